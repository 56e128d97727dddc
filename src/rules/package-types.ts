/** The formats that packages are published in (PK-1). */
export const PACKAGE_TYPES = ['generic', 'npm', 'pypi', 'maven'] as const
export type PackageType = (typeof PACKAGE_TYPES)[number]
