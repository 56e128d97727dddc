/** The formats that packages are published in (PK-1). */
export const PACKAGE_TYPES = ['generic', 'npm', 'pypi', 'maven', 'nuget'] as const
export type PackageType = (typeof PACKAGE_TYPES)[number]
