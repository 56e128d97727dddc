/** The number of rules in docs/spec, the number of files that can cite them, and one line per error. */
export function checkRules(root: string): { rules: number; files: number; faults: string[] }
