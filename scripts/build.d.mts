/** Builds dist/main.js if the sources have changed since the last build; returns its path. */
export function build(): Promise<string>
