import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, TestModule } from 'vitest/node'

/** The maximum length of an error message in its line, in characters. */
const SHOWN = 200

/**
 * Ends the output with a line for each failure, `FAILED file > name: message`, and a final line with the counts for
 * build servers. A file that could not be loaded counts as a failure.
 */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly { message: string }[]) {
    let passed = 0
    const failures = errors.map((error) => failure('outside of a test', error))
    for (const module of modules) {
      const file = relative(process.cwd(), module.moduleId)
      for (const test of module.children.allTests()) {
        const { state, errors: reasons } = test.result()
        if (state === 'passed') passed++
        else if (state === 'failed') failures.push(failure(`${file} > ${test.fullName}`, reasons[0]))
      }
      if (module.errors().length > 0) failures.push(failure(file, module.errors()[0]))
    }
    // After the default reporter, which prints its summary in the same step.
    process.once('exit', () => process.stdout.write(`${[...failures, `${passed} passed, ${failures.length} failed`].join('\n')}\n`))
  }
}

const failure = (name: string, error: { message: string } | undefined) =>
  `FAILED ${name}: ${stripVTControlCharacters(error?.message ?? '')
    .replace(/\s+/g, ' ')
    .slice(0, SHOWN)}`
