import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { isRunning, startTimeOf } from '../../src/lib/is-running.js'

describe('whether a process runs', () => {
  it('this one does, and has a start time', () => {
    expect(isRunning(process.pid)).toBe(true)
    expect(startTimeOf(process.pid)).toMatch(/^\d+$/)
  })

  it('one that has ended does not', async () => {
    const child = spawn('true')
    await once(child, 'exit')
    expect(isRunning(child.pid as number)).toBe(false)
    expect(startTimeOf(child.pid as number)).toBeUndefined()
  })

  it('nor does one whose parent has not asked for its end', async () => {
    // the shell becomes sleep, which knows of no child, before that one ends
    const parent = spawn('sh', ['-c', 'sleep 0.5 & echo $!; exec sleep 30'], { stdio: ['ignore', 'pipe', 'ignore'] })
    const [line] = (await once(parent.stdout, 'data')) as [Buffer]
    const pid = Number(line)
    try {
      await expect.poll(() => isRunning(pid), { timeout: 5_000 }).toBe(false)
      expect(() => process.kill(pid, 0)).not.toThrow()
    } finally {
      parent.kill('SIGKILL')
    }
  })
})
