import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, mkdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { writeNewFile } from '../../lib/files/durable.js'
import type { GitProcess } from '../process/spawner.js'
import type { PushCommand } from '../types.js'

/**
 * Passes the commands to the server (descriptor 3) and follows its answer (descriptor 4): lines to show, each prefixed
 * with a dash, then `ok` to accept or `.` to reject. A missing answer rejects the push.
 */
const PRE_RECEIVE = `#!/bin/sh
trap '' PIPE
{ printf 'pre %s\\n' "$GIT_QUARANTINE_PATH" && cat && echo; } >&3 || exit 1
IFS= read -r line <&4 || exit 1
while [ "$line" != ok ] && [ "$line" != . ]; do
  printf '%s\\n' "\${line#-}" >&2
  IFS= read -r line <&4 || exit 1
done
[ "$line" = ok ]
`

/** Reports the moved refs to the server and shows the lines that it answers. */
const POST_RECEIVE = `#!/bin/sh
trap '' PIPE
{ echo post && cat && echo; } >&3 || exit 0
while IFS= read -r line <&4 && [ "$line" != . ]; do printf '%s\\n' "\${line#-}" >&2; done
exit 0
`

/**
 * Returns the directory of the two hooks, creating it if necessary. Checked before every push, because git skips a hook
 * that is missing or not executable.
 */
export async function installHooks(parent: string): Promise<string> {
  const name = createHash('sha256')
    .update(PRE_RECEIVE + POST_RECEIVE)
    .digest('hex')
  const folder = join(parent, `hooks-${name.slice(0, 16)}`)
  if (await isInstalled(folder)) return folder
  const temporary = join(parent, `tmp_hooks_${randomBytes(6).toString('hex')}`)
  try {
    await mkdir(temporary, { recursive: true, mode: 0o700 })
    await writeNewFile(join(temporary, 'pre-receive'), PRE_RECEIVE, 0o500)
    await writeNewFile(join(temporary, 'post-receive'), POST_RECEIVE, 0o500)
    if (!(await isInstalled(folder))) await rm(folder, { recursive: true, force: true })
    await rename(temporary, folder)
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    if (!(await isInstalled(folder))) throw error // another process created it at the same time
  }
  if (!(await isInstalled(folder))) throw new Error(`programs in ${parent} may not be run`)
  return folder
}

function isInstalled(folder: string) {
  return Promise.all(['pre-receive', 'post-receive'].map((hook) => access(join(folder, hook), constants.X_OK))).then(
    () => true,
    () => false,
  )
}

/** The accepted commands, with lines to show; a string rejects all commands. */
export type Verdict = string | { accepted: PushCommand[]; lines: string[] }

export interface HookHandlers {
  /** Handles pre-receive. A push without objects, such as a deletion, has no quarantine. */
  preReceive(commands: PushCommand[], quarantine: string | undefined): Promise<Verdict>
  /** Handles post-receive. */
  postReceive(commands: PushCommand[]): Promise<void>
}

/** The server's end of the two hooks of one push. */
export class HookChannel {
  /** The accepted commands; set with the verdict. */
  accepted: PushCommand[] | undefined
  quarantine: string | undefined
  /** Whether post-receive has reported what moved. */
  reported = false
  /** Whether the client disconnected before the verdict. */
  abandoned = false
  /** An error in the service. */
  fault: unknown
  readonly #output: Writable
  readonly #work: Promise<void>

  constructor(
    child: GitProcess,
    readonly directory: string,
    readonly limit: number,
    readonly handlers: HookHandlers,
  ) {
    this.#output = child.stdio[4] as Writable
    this.#output.on('error', () => {}) // the hook was killed; the outcome of the push is found by reading the refs
    this.#work = this.#listen(child.stdio[3] as Readable)
  }

  /** Resolves when the hooks have ended. */
  async ended() {
    await this.#work
    this.#output.end()
  }

  /** Shows lines on the progress channel. */
  show(lines: string[]) {
    for (const line of lines) this.#output.write(`-${printable(line)}\n`)
  }

  async #listen(questions: Readable) {
    let rest = ''
    let heading: string | undefined
    let commands: PushCommand[] = []
    let count = 0
    try {
      for await (const chunk of questions.setEncoding('latin1')) {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          if (heading === undefined) heading = line
          else if (line !== '') {
            count++
            if (count <= this.limit) commands.push(commandOf(line))
          } else {
            await this.#answer(heading, commands, count)
            heading = undefined
            commands = []
            count = 0
          }
        }
      }
    } catch (error) {
      this.fault ??= error
    }
  }

  async #answer(heading: string, commands: PushCommand[], count: number) {
    if (heading.startsWith('pre ')) {
      const verdict = await this.#verdict(commands, count, heading.slice(4))
      if (this.abandoned) return
      if (typeof verdict === 'string') {
        this.show(verdict.split(/\r\n|\r|\n/))
        this.#output.write('.\n')
      } else {
        this.accepted = verdict.accepted
        this.show(verdict.lines)
        this.#output.write('ok\n')
      }
      return
    }
    this.reported = true
    try {
      await this.handlers.postReceive(commands)
    } catch (error) {
      this.fault ??= error
    }
    this.#output.write('.\n')
  }

  async #verdict(commands: PushCommand[], count: number, path: string) {
    if (count > this.limit) return `A push may update at most ${this.limit} refs.`
    try {
      // the path is relative to git's working directory; an empty one would be the repository itself
      if (path !== '') this.quarantine = resolve(this.directory, Buffer.from(path, 'latin1').toString())
      return await this.handlers.preReceive(commands, this.quarantine)
    } catch (error) {
      this.fault ??= error
      return 'The push could not be checked. Please try again.'
    }
  }
}

/** Parses a command, in latin1: the old and the new value, and the ref. */
export function commandOf(line: string): PushCommand {
  return { old: line.slice(0, 40), new: line.slice(41, 81), ref: Buffer.from(line.slice(82).replace(/\n$/, ''), 'latin1').toString() }
}

function printable(line: string) {
  return line.replace(/\p{Cc}/gu, ' ')
}
