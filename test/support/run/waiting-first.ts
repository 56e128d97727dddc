import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Small files that take half a minute or more, most of which they wait. */
const WAITING = /\/(jobs\/kills|testing\/documented|cli\/account|lfs-durability|releases\/releases)\.long\.test\.ts$/

/**
 * Begins with files that wait long. Vitest begins with the largest, so that these would come last, and the whole run
 * would wait for them while a core is idle.
 */
export class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const waits = ({ moduleId }: TestSpecification) => WAITING.test(moduleId)
    return [...sorted.filter(waits), ...sorted.filter((file) => !waits(file))]
  }
}
