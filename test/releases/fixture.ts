import { execFileSync, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import { git, gitUrl } from './content.js'
import type { Answers } from './reading.js'

/** What the version's program has answered when the fixture was made. */
export interface Recorded {
  answers: Answers
  /** `git ls-remote` of each repository, by path. */
  refs: Record<string, string>
  /** The path of the attachment, below the service. */
  upload: string
}

const here = fileURLToPath(new URL('.', import.meta.url))
export const folderOf = (version: string) => join(here, version)

/** Compresses bytes. The window is larger than the data, as the template databases of Postgres are copies of one another. */
const compress = (bytes: Buffer) =>
  brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_LARGE_WINDOW]: 1,
      [constants.BROTLI_PARAM_LGWIN]: 27,
      [constants.BROTLI_PARAM_QUALITY]: 10,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  })
const decompress = (bytes: Buffer) => brotliDecompressSync(bytes, { params: { [constants.BROTLI_DECODER_PARAM_LARGE_WINDOW]: 1 } })

/** Writes a folder as a compressed tar archive. */
export function pack(folder: string, file: string) {
  const tar = execFileSync('tar', ['-c', '--sort=name', '--owner=0', '--group=0', '--sparse', basename(folder)], {
    cwd: dirname(folder),
    maxBuffer: 1024 ** 3,
  })
  writeFileSync(file, compress(tar))
}

/** Extracts what `pack` has written; the files belong to the caller. */
export const unpack = (file: string, into: string) =>
  void execFileSync('tar', ['-x', '--no-same-owner', '-p'], { cwd: into, input: decompress(readFileSync(file)) })

export const writeRecorded = (file: string, recorded: Recorded) => writeFileSync(file, compress(Buffer.from(JSON.stringify(recorded))))
export const readRecorded = (version: string): Recorded =>
  JSON.parse(decompress(readFileSync(join(folderOf(version), 'recorded.json.br'))).toString())

/** The settings of a service on the data of a fixture. */
export const environment = (dataDir: string) => ({
  PATH: process.env['PATH'],
  TMPDIR: process.env['TMPDIR'],
  DATA_DIR: dataDir,
  BASE_URL: 'http://roost.example',
  PORT: '0',
  SSH_PORT: '',
  LOG_LEVEL: 'info', // has the address that the service listens on
})

/** Runs the service of a checkout while `work` does. */
export async function withService<T>(checkout: string, env: NodeJS.ProcessEnv, work: (url: string) => Promise<T>): Promise<T> {
  const child = spawn(process.execPath, [join(checkout, 'scripts/start.mjs')], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const ready = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => {
        output += text
        const url = /Server listening at (http:[^"]+)/.exec(output)?.[1]
        if (url && output.includes('Roost is ready')) resolve(url)
      })
    void ended.then((code) => reject(new Error(`the service ended with ${code}: ${output}`)))
  })
  let result: T
  try {
    result = await work(await ready)
  } finally {
    child.kill('SIGTERM')
    await ended
  }
  if ((await ended) !== 0) throw new Error(`the service ended with ${await ended}: ${output}`)
  return result
}

/** `git ls-remote` of each project and wiki that is not archived. */
export function readRefs(url: string, answers: Answers): Record<string, string> {
  const projects = Object.entries(answers).find(([path]) => path.startsWith('/projects?'))?.[1].body as { path_with_namespace: string }[]
  const paths = projects.flatMap(({ path_with_namespace: path }) => [path, `${path}.wiki`])
  return Object.fromEntries(paths.map((path) => [path, git('/', 'ls-remote', gitUrl(url, path))]))
}
