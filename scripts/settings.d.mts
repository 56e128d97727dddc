/** The number of settings in docs/settings.md, and one line for each that no test sees, or fault of `test/settings.txt`. */
export function checkSettings(root: string): { settings: number; faults: string[] }
