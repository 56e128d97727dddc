import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire, SourceMap } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cachedDataVersionTag } from 'node:v8'
import { Script } from 'node:vm'

/** The digest of the program, set by the build. */
declare const PROGRAM_DIGEST: string

/** The bundle of main.ts, which is one function. */
type Program = (require: NodeJS.Require, module: { exports: { started?: Promise<void> } }, url: string, filename: string, dirname: string) => void

const path = fileURLToPath(new URL('./program.js', import.meta.url))
/** Named after the digest of the program: V8 checks its version, flags and the length of the source, not the source. */
const cacheFile = fileURLToPath(new URL(`./cache/${PROGRAM_DIGEST}-${cachedDataVersionTag().toString(16)}`, import.meta.url))
const DIGEST_BYTES = 20

/** Stores the compiled code beside the program, so that only users who may replace the program can write it. */
function saveCode(code: Buffer): void {
  const temporary = `${cacheFile}.${process.pid}`
  try {
    mkdirSync(dirname(cacheFile), { recursive: true })
    writeFileSync(temporary, Buffer.concat([digestOf(code), code]))
    renameSync(temporary, cacheFile)
  } catch {
    // not writable: the next start compiles again
  }
}

/** The cached code; undefined if there is none or it is damaged. */
function readCachedCode(): Buffer | undefined {
  try {
    const file = readFileSync(cacheFile)
    const code = file.subarray(DIGEST_BYTES)
    return digestOf(code).equals(file.subarray(0, DIGEST_BYTES)) ? code : undefined
  } catch {
    return undefined
  }
}

const digestOf = (code: Buffer): Buffer => createHash('sha1').update(code).digest()

/** Each line of the source map is the map of so many lines of the program; the build makes it so. */
const LINES_A_MAP = 32

/** Maps stack traces to the sources; Node does so only for modules. */
function mapStackTraces(): void {
  let maps: Buffer | undefined
  /** By line and column; there are as many as the program has calls. */
  const positions = new Map<string, string>()
  const sourceOf = (line: number, column: number): string | undefined => {
    try {
      maps ??= readFileSync(`${path}.map`)
      const map = lineAt(maps, Math.floor((line - 1) / LINES_A_MAP))
      const entry = new SourceMap(JSON.parse(map)).findEntry((line - 1) % LINES_A_MAP, column - 1)
      // without a source where a library was left out
      if (!('originalSource' in entry) || !entry.originalSource) return undefined
      return `${resolve(dirname(path), entry.originalSource)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
    } catch {
      // no map, or a damaged one
      return undefined
    }
  }
  const lineOf = (frame: NodeJS.CallSite): string => {
    const text = String(frame)
    const [line, column] = [frame.getLineNumber(), frame.getColumnNumber()]
    if (frame.getFileName() !== path || line === null || column === null) return text
    const position = `${path}:${line}:${column}`
    const source = positions.get(position) ?? sourceOf(line, column) ?? position
    positions.set(position, source)
    return text.replace(position, () => source)
  }
  Error.prepareStackTrace = (error, frames) => [Error.prototype.toString.call(error), ...frames.map((frame) => `    at ${lineOf(frame)}`)].join('\n')
}

/** A line of a text, counted from 0; empty if there is none. */
function lineAt(text: Buffer, index: number): string {
  let start = 0
  for (let i = 0; i < index; i++) {
    const end = text.indexOf(10, start)
    if (end < 0) return ''
    start = end + 1
  }
  const end = text.indexOf(10, start)
  return text.toString('utf8', start, end < 0 ? text.length : end)
}

/** Runs the program with code that V8 compiled at an earlier start: compiling takes half of the startup time. */
async function load(): Promise<void> {
  mapStackTraces()
  const cachedData = readCachedCode()
  // the bundle is ASCII, and a one-byte string takes less memory
  const script = new Script(readFileSync(path, 'latin1'), { filename: path, ...(cachedData && { cachedData }) })
  const module: Parameters<Program>[1] = { exports: {} }
  const run: Program = script.runInThisContext()
  run(createRequire(import.meta.url), module, import.meta.url, path, dirname(path))
  if (cachedData && !script.cachedDataRejected) return
  const command = process.argv[2] ?? 'serve'
  // other commands compile too little of the program
  if (command !== 'serve' && command !== 'test') return
  await module.exports.started
  saveCode(script.createCachedData())
}

await load()
