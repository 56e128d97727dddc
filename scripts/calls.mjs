import { CALLS } from '../bench/calls.mjs'
import { families } from '../src/routes/index.ts'

/** Prints operations without a row in bench/calls.mjs, and rows without an operation; run with `tsx`. */
const operations = families.flat().map(({ method, path }) => `${method} ${path.replace(/\([^)]*\)/g, '')}`)
const rows = new Set(Object.keys(CALLS))
const faults = [
  ...operations.filter((name) => !rows.delete(name)).map((name) => `bench/calls.mjs has no row for ${name}`),
  ...[...rows].map((name) => `bench/calls.mjs has a row for ${name}, which is no operation`),
]
process.stdout.write(`${faults.join('\n')}\nread ${operations.length} operations\n`)
process.exitCode = faults.length > 0 ? 1 : 0
