interface Input {
  imports: { path: string; external?: boolean }[]
}

/** Lines about packages that the sources use and `dependencies` does not name, and the other way round. */
export function dependencyFaults(manifest: { dependencies: Record<string, string> }, inputs: Record<string, Input>): string[]
