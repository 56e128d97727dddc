import { describe, expect, it } from 'vitest'
import { testApp } from '../../support/app.js'

const t = testApp()

describe('the page of the reference', () => {
  it('it and all it loads come from here, under a strict policy, and no parameter names another document (SEC-171)', async () => {
    const page = await fetch(`${t.url}/api/docs?url=https://elsewhere.example/openapi.json`)
    expect(page.status).toBe(200)
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self';")
    expect(policy).not.toMatch(/https?:|unsafe|\*|upgrade-insecure/)
    const html = await page.text()
    expect(html).not.toContain('elsewhere.example')
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=/)
    const parts = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, part = '']) => part)
    expect(parts).toContain('/api/v4/openapi.json')
    const modules = new Set(parts)
    for (const path of modules) {
      const part = await fetch(t.url + path)
      expect([path, part.status]).toEqual([path, 200])
      for (const [, name = ''] of (await part.text()).matchAll(/from '\.\/([a-z]+\.js)'/g)) modules.add(`/api/docs/${name}`)
    }
    expect(modules.size).toBeGreaterThan(5)
  })

  it('lists every operation without a script', async () => {
    const html = await (await fetch(`${t.url}/api/docs`)).text()
    const { paths } = (await (await fetch(`${t.url}/api/v4/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { operationId: string }>>
    }
    const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
    expect([...html.matchAll(/<li><a href="#([^"]+)"/g)].map(([, id]) => id).sort()).toEqual(ids.sort())
  })

  it('is small, and smaller for clients that take gzip', async () => {
    const bytesOf = async (path: string, encoding: string) => {
      const answer = await fetch(t.url + path, { headers: { 'accept-encoding': encoding } })
      expect(answer.headers.get('vary')).toBe('accept-encoding')
      expect(answer.headers.get('content-encoding')).toBe(encoding === 'gzip' ? 'gzip' : null)
      return Number(answer.headers.get('content-length'))
    }
    expect(await bytesOf('/api/docs', 'gzip')).toBeLessThan(50_000)
    expect(await bytesOf('/api/v4/openapi.json', 'gzip')).toBeLessThan(200_000)
    expect((await bytesOf('/api/docs', 'identity')) + (await bytesOf('/api/v4/openapi.json', 'identity'))).toBeLessThan(2_400_000)
  })

  it('other methods are refused (G-1)', async () => {
    for (const path of ['/api/docs', '/api/docs/page.js', '/api/v4/openapi.json']) {
      const answer = await fetch(t.url + path, { method: 'POST' })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    }
    expect((await fetch(`${t.url}/api/docs/../main.js`)).status).toBe(404)
    expect((await fetch(`${t.url}/api/docs/examples.json`)).status).toBe(404)
  })
})
