/** The names of the formats of packages. */
export const FORMATS = { generic: 'Generic', npm: 'npm', pypi: 'Python', maven: 'Maven', nuget: 'NuGet' } as const
