import { readXml } from './xml.js'

export const TEST_STATES = ['success', 'failed', 'error', 'skipped'] as const
export type TestState = (typeof TEST_STATES)[number]

export interface TestCase {
  status: TestState
  name: string
  classname: string
  file: string | null
  /** Seconds. */
  execution_time: number
  /** What the test or its failure said. */
  system_output: string | null
}

/** Tests of one report, characters of what one said, and of all together, that are kept. */
export const MAX_CASES = 10_000
const MAX_OUTPUT = 10_000
const MAX_CHARACTERS = 2_000_000

const KINDS: Record<string, TestState> = { failure: 'failed', error: 'error', skipped: 'skipped' }
const short = (text: string | undefined) => (text ?? '').slice(0, 1_000)

/** The tests of a JUnit report (CI-251). Throws if it is not well-formed. */
export function readJunit(files: readonly string[]): TestCase[] {
  const cases = new Map<string, TestCase>()
  let left = MAX_CHARACTERS
  const add = (made: TestCase) => {
    if (cases.size >= MAX_CASES) throw new Error(`the report has more than ${MAX_CASES} tests`)
    left -= made.name.length + made.classname.length + (made.file?.length ?? 0) + 100
    if (left < 0) throw new Error('the report is too large')
    if (made.system_output !== null) {
      made.system_output = made.system_output.trim().slice(0, Math.min(MAX_OUTPUT, left))
      left -= made.system_output.length
    }
    // of those with one name the last counts
    cases.set(JSON.stringify([made.classname, made.name, made.file]), made)
  }
  for (const file of files) {
    let open: TestCase | null = null
    /** The element whose text is read. */
    let inside: string | null = null
    readXml(file, {
      open(name, attributes) {
        if (name === 'testcase') {
          const time = Number((attributes['time'] ?? '').replaceAll(',', ''))
          open = {
            status: 'success',
            name: short(attributes['name']),
            classname: short(attributes['classname']),
            file: attributes['file'] === undefined ? null : short(attributes['file']),
            execution_time: Number.isFinite(time) ? time : 0,
            system_output: null,
          }
          return
        }
        const kind = KINDS[name]
        if (!open || !kind) return
        open.status = kind
        open.system_output = attributes['message'] ?? null
        inside = name
      },
      text(text) {
        if (!open || inside === null) return
        const before = open.system_output
        if ((before?.length ?? 0) < MAX_OUTPUT) open.system_output = `${before === null ? '' : `${before}\n`}${text.slice(0, MAX_OUTPUT)}`
      },
      close(name) {
        if (name === inside) inside = null
        if (name !== 'testcase' || !open) return
        add(open)
        open = null
      },
    })
  }
  return [...cases.values()]
}

export type TestCounts = Record<TestState, number> & { time: number; count: number }

/** How many tests there are of each state, and their time in seconds. */
export function countTests(cases: readonly TestCase[]): TestCounts {
  const counts: TestCounts = { time: 0, count: cases.length, success: 0, failed: 0, error: 0, skipped: 0 }
  for (const { status, execution_time } of cases) {
    counts[status]++
    counts.time += execution_time
  }
  return counts
}
