import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { fileSystemFaults, spaceFaults } from '../../src/lib/files/file-system.js'

const folder = mkdtempSync(join(tmpdir(), 'roost-file-system-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('what a file system promises (SEC-190)', () => {
  it('is all there where tests run, and trying it leaves nothing behind', async () => {
    expect(await fileSystemFaults(folder)).toEqual([])
    expect(readdirSync(folder)).toEqual([])
  })

  it('cannot be tried where nothing can be written', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    // as root nothing keeps one from writing but the lack of a folder
    expect(await fileSystemFaults(file)).toEqual([expect.stringMatching(/^cannot be written \((EACCES|ENOTDIR)\)$/)])
    expect(await fileSystemFaults(join(folder, 'missing'))).toEqual(['cannot be written (ENOENT)'])
    expect(await fileSystemFaults('/proc/self')).toEqual([expect.stringMatching(/^cannot be written/)])
  })

  it('includes room for bytes and for files', () => {
    const room = { bsize: 4_096, bavail: 1_000_000, files: 1_000_000, ffree: 500_000 }
    expect(spaceFaults(room)).toEqual([])
    expect(spaceFaults({ ...room, bavail: 1_000 })).toEqual(['has 3 MiB left'])
    expect(spaceFaults({ ...room, ffree: 9_999 })).toEqual(['has room for 9999 more files'])
    expect(spaceFaults({ ...room, files: 0, ffree: 0 })).toEqual([])
  })
})
