/** Builds dist/main.js when the sources differ from what it was built of; its path. */
export function build(): Promise<string>
