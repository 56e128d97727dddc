/** The text of the module with the icons. */
export function iconsModule(): string
