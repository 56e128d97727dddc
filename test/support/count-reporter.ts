import type { Reporter, TestModule } from 'vitest/node'

/** Ends the output with the one line a build server looks for. A file that could not be loaded counts as a failure. */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]) {
    let passed = 0
    let failed = errors.length
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed++
        else if (state === 'failed') failed++
      }
      if (module.errors().length > 0) failed++
    }
    // After the default reporter, which prints its summary in the same step.
    process.once('exit', () => process.stdout.write(`${passed} passed, ${failed} failed\n`))
  }
}
