import { describe, expect, it } from 'vitest'
import { nugetVersion } from '../../src/rules/packages/nuget-version.js'

describe('a version of NuGet (PK-82)', () => {
  it('is shown as clients ask for it', () => {
    for (const [given, shown] of [
      ['1', '1.0.0'],
      ['1.2', '1.2.0'],
      ['01.002.3', '1.2.3'],
      ['1.2.3.0', '1.2.3'],
      ['1.2.3.4', '1.2.3.4'],
      ['1.0-Beta.1+build.7', '1.0.0-Beta.1'],
      ['2147483647.0.0', '2147483647.0.0'],
    ] as const)
      expect([given, nugetVersion(given)?.version]).toEqual([given, shown])
  })

  it('is none that clients do not read', () => {
    for (const given of ['', 'x', '1.', '.1', '1..2', '1.2.3.4.5', '1.0-', '1.0-a..b', '2147483648.0', '99999999999', '1.0 ', '1.0+', '-1', '1.0-ü'])
      expect([given, nugetVersion(given)]).toEqual([given, null])
  })

  it('has its place among others', () => {
    const ordered = '0.9.0 1.0.0-1 1.0.0-2 1.0.0-11 1.0.0-a 1.0.0-A.1 1.0.0-a.b 1.0.0-alpha 1.0.0-b 1.0.0 1.0.0.1 1.0.1 1.2.0 1.10.0 2.0.0-rc 10.0.0'
    const sorts = ordered.split(' ').map((version) => nugetVersion(version)?.sort ?? '')
    expect([...sorts].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))).toEqual(sorts)
    expect(nugetVersion('1.0.0-BETA')?.sort).toBe(nugetVersion('1.0-beta+x')?.sort)
  })
})
