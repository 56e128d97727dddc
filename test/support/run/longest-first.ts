import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take a minute or more, many of them small. */
const LONG =
  /\/(ci\/kills|rolling|archive-durability|durability|move-durability|jobs\/kills|testing\/documented|cli\/account|lfs-durability|releases\/releases|workers|main|web\/(matrix|offered|sentinel|links|not-offered)|access\/sentinel|named-things)\.long\.test\.ts$/

/**
 * Begins with files that take long. Vitest begins with the largest, so that these would come last, and the whole run
 * would wait for them while cores are idle.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification) => LONG.test(moduleId)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}
