/** How many rules docs/spec defines, how many files may cite them, and one line for each fault. */
export function checkRules(root: string): { rules: number; files: number; faults: string[] }
