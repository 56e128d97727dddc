import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire, SourceMap } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cachedDataVersionTag } from 'node:v8'
import { Script } from 'node:vm'

/** The digest of the program; the build puts it in. */
declare const PROGRAM_DIGEST: string

/** What the bundler made of main.ts: one function. */
type Program = (require: NodeJS.Require, module: { exports: { started?: Promise<void> } }, url: string, filename: string, dirname: string) => void

const path = fileURLToPath(new URL('./program.js', import.meta.url))
/** V8 compares versions, flags and the length of the program, not the program. */
const cacheFile = fileURLToPath(new URL(`./cache/${PROGRAM_DIGEST}-${cachedDataVersionTag().toString(16)}`, import.meta.url))
const DIGEST_BYTES = 20

/** Beside the program, so that only who may replace it may write there; where that is nobody, nothing is kept. */
function saveCode(code: Buffer): void {
  const temporary = `${cacheFile}.${process.pid}`
  try {
    mkdirSync(dirname(cacheFile), { recursive: true })
    writeFileSync(temporary, Buffer.concat([digestOf(code), code]))
    renameSync(temporary, cacheFile)
  } catch {
    // the next start compiles again
  }
}

/** Undefined where there is none that is whole. */
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

/** Traces name places in the sources; Node sees to that for modules only. */
function mapStackTraces(): void {
  let map: SourceMap | null | undefined
  const sourceOf = (line: number, column: number): string | undefined => {
    map ??= readMap()
    const entry = map?.findEntry(line - 1, column - 1)
    if (!entry || !('originalSource' in entry)) return undefined
    return `${resolve(dirname(path), entry.originalSource)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  }
  const lineOf = (frame: NodeJS.CallSite): string => {
    const text = String(frame)
    const [line, column] = [frame.getLineNumber(), frame.getColumnNumber()]
    if (frame.getFileName() !== path || line === null || column === null) return text
    return text.replace(`${path}:${line}:${column}`, (position) => sourceOf(line, column) ?? position)
  }
  Error.prepareStackTrace = (error, frames) => [Error.prototype.toString.call(error), ...frames.map((frame) => `    at ${lineOf(frame)}`)].join('\n')
}

function readMap(): SourceMap | null {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')))
  } catch {
    return null
  }
}

/** Runs the program with the code that V8 made of it at an earlier start: half of the time of a start is compiling. */
async function load(): Promise<void> {
  mapStackTraces()
  const cachedData = readCachedCode()
  // ASCII, so one byte for each letter
  const script = new Script(readFileSync(path, 'latin1'), { filename: path, ...(cachedData && { cachedData }) })
  const module: Parameters<Program>[1] = { exports: {} }
  const run: Program = script.runInThisContext()
  run(createRequire(import.meta.url), module, import.meta.url, path, dirname(path))
  if (cachedData && !script.cachedDataRejected) return
  const command = process.argv[2] ?? 'serve'
  // what other commands compile is too little to be of use
  if (command !== 'serve' && command !== 'test') return
  await module.exports.started
  saveCode(script.createCachedData())
}

await load()
