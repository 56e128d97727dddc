/** Configuration of one git command, as its options. */
export const configOptions = (config: Record<string, string>): string[] =>
  Object.entries(config).flatMap(([name, value]) => ['-c', `${name}=${value}`])
