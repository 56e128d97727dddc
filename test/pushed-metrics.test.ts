import { describe, expect, it } from 'vitest'
import { testApp } from './support/app.js'
import { anAdmin, aProject } from './support/factories.js'
import { datagrams } from './support/servers/datagrams.js'

/** The defaults; a switch is turned on with what it needs (AS-10). */
const DEFAULTS = {
  metrics_host: '127.0.0.1',
  metrics_method_call_threshold: 10,
  metrics_packet_size: 1,
  metrics_pool_size: 16,
  metrics_sample_interval: 0,
  metrics_timeout: 10,
}
const LINE = /^(?:[^ \\]|\\.)+ [a-z]+=[-+.e\d]+ \d{19}$/

describe('points of metrics', () => {
  const t = testApp()
  const there = datagrams()

  it('are sent over UDP while metrics_enabled is on, with what took longer than the threshold (SEC-274)', async () => {
    const admin = await anAdmin(t.ctx)
    const project = await aProject(t.ctx, { creator: admin, files: { 'a b': 'text' } })
    const put = (settings: object) => t.api('put', '/application/settings', admin).send(settings).expect(200)
    const list = () => t.api('get', `/projects/${project.id}/repository/tree`, admin).expect(200)
    const on = { ...DEFAULTS, metrics_port: there.port, metrics_method_call_threshold: 0 }
    await put(on)
    await list()
    expect(there.packets).toEqual([])
    await put({ ...on, metrics_enabled: true })
    await list()
    const request = await there.line(/^roost_request,/)
    expect(await there.line(/route=\/api\/v4\/projects\/:id\/repository\/tree/)).toMatch(
      /^roost_request,host=[^ ]+,process=\d+,method=GET,route=\/api\/v4\/projects\/:id\/repository\/tree,status=200 seconds=[\d.e-]+ \d{19}$/,
    )
    expect(request).toMatch(LINE)
    expect(there.packets.every((packet) => !packet.includes('\n'))).toBe(true)

    // nothing takes an hour
    await put({ metrics_method_call_threshold: 3_600_000 })
    await there.line(/route=\/api\/v4\/application\/settings/)
    there.packets.length = 0
    await list()
    await t.api('get', '/user', { token: 'glpat-0000000000000000000_' } as never).expect(401)
    expect(await there.line(/^roost_login,/)).toMatch(/,how=token,result=refused count=1 \d{19}$/)
    expect(there.lines().filter((line) => line.startsWith('roost_request'))).toEqual([])

    await put({ metrics_enabled: false })
    there.packets.length = 0
    await t.api('get', '/user', { token: 'glpat-0000000000000000000_' } as never).expect(401)
    await list()
    expect(there.packets).toEqual([])
  })

  it('are several in a packet, and samples of the process at intervals (SEC-274)', async () => {
    const admin = await anAdmin(t.ctx)
    const put = (settings: object) => t.api('put', '/application/settings', admin).send(settings).expect(200)
    await put({
      ...DEFAULTS,
      metrics_host: 'localhost',
      metrics_port: there.port,
      metrics_packet_size: 50,
      metrics_sample_interval: 1,
      metrics_enabled: true,
    })
    t.ctx.samples.startSampling()
    const memory = await there.line(/^process_resident_memory_bytes,/)
    expect(memory).toMatch(LINE)
    await there.line(/^roost_cache_lookups,.*cache=rendered,result=hit value=/)
    await there.line(/^roost_points_dropped,host=[^ ]+,process=\d+ value=0 /)
    const packets = there.packets.map((packet) => packet.split('\n').length)
    expect(Math.max(...packets)).toBeGreaterThan(10)
    expect(Math.max(...packets)).toBeLessThanOrEqual(50)
    expect(there.lines().filter((line) => !LINE.test(line))).toEqual([])
    await put({ metrics_enabled: false })
  })

  it('come from metrics_pool_size sockets at most (SEC-274)', async () => {
    const admin = await anAdmin(t.ctx)
    for (const sockets of [1, 4]) {
      const on = { ...DEFAULTS, metrics_enabled: true, metrics_port: there.port, metrics_method_call_threshold: 60_000, metrics_pool_size: sockets }
      await t.api('put', '/application/settings', admin).send(on).expect(200)
      await there.silence()
      there.packets.length = 0
      there.ports.clear()
      for (let n = 0; n < 40; n++) t.ctx.monitoring.metrics.push('project')
      await expect.poll(() => there.packets.length, { timeout: 10_000 }).toBe(40)
      expect(there.ports.size).toBeLessThanOrEqual(sockets)
      if (sockets === 4) expect(there.ports.size).toBeGreaterThan(1)
    }
    await t.api('put', '/application/settings', admin).send({ metrics_enabled: false }).expect(200)
  })

  it('disturb nothing when their host does not exist or takes nothing (SEC-274)', async () => {
    const admin = await anAdmin(t.ctx)
    const put = (settings: object) => t.api('put', '/application/settings', admin).send(settings).expect(200)
    await put({
      metrics_enabled: true,
      metrics_sample_interval: 15,
      metrics_host: 'no such host.invalid',
      metrics_port: 0,
      metrics_method_call_threshold: 0,
      metrics_pool_size: 0,
      metrics_packet_size: 0,
      metrics_timeout: 0,
    })
    for (let n = 0; n < 20; n++) await t.api('get', '/version', admin).expect(200)
    await put({ metrics_host: '127.0.0.1' })
    for (let n = 0; n < 20; n++) await t.api('get', '/version', admin).expect(200)
    await put({ metrics_enabled: false })
    expect(t.logged.filter((line) => /"level":(50|60)/.test(line))).toEqual([])
  })
})
