import { describe, expect, it } from 'vitest'
import { compositeStatus, nextState, type StateOfJob } from '../../../src/rules/ci/states.js'
import type { JobState, PlannedJob } from '../../../src/rules/ci/types.js'

/** `failed?` may fail. */
const jobs = (text: string): StateOfJob[] =>
  text
    .split(' ')
    .filter(Boolean)
    .map((word) => ({ state: word.replace('?', '') as JobState, allow_failure: word.endsWith('?') }))

describe('the state of many (CI-50)', () => {
  it.each([
    ['', null],
    ['skipped', 'skipped'],
    ['skipped manual?', 'skipped'],
    ['success skipped', 'success'],
    ['success failed?', 'success'],
    ['success canceled?', 'success'],
    ['success manual?', 'success'],
    ['created', 'created'],
    ['created failed?', 'created'],
    ['preparing', 'preparing'],
    ['success canceled', 'canceled'],
    ['canceled skipped', 'canceled'],
    ['failed canceled', 'failed'],
    ['pending created', 'pending'],
    ['pending skipped', 'pending'],
    ['success pending', 'running'],
    ['running failed', 'running'],
    ['running canceling', 'running'],
    ['canceling success', 'canceling'],
    ['waiting_for_resource created', 'waiting_for_resource'],
    ['success manual', 'manual'],
    ['manual created', 'manual'],
    ['scheduled success', 'scheduled'],
    ['preparing success', 'preparing'],
    ['success created', 'running'],
    ['failed created', 'running'],
    ['success failed', 'failed'],
    ['failed', 'failed'],
  ])('%s: %s', (text, state) => {
    expect(compositeStatus(jobs(text))).toBe(state)
  })

  it.each([
    ['success success', 'success'],
    ['success skipped', 'skipped'],
    ['success manual?', 'skipped'],
    ['success running', 'pending'],
    ['success manual', 'pending'],
    ['success failed', 'failed'],
    ['success failed?', 'success'],
  ])('of needs %s: %s', (text, state) => {
    expect(compositeStatus(jobs(text), { needs: true })).toBe(state)
  })
})

describe('what becomes of a job (CI-51)', () => {
  const need = [{ job: 'a', artifacts: true }]
  it.each<[PlannedJob['when'], boolean, string, string | null]>([
    ['on_success', false, '', 'pending'],
    ['on_success', true, '', 'pending'],
    ['on_success', false, 'success failed?', 'pending'],
    ['on_success', false, 'skipped', 'pending'],
    ['on_success', true, 'skipped', 'skipped'],
    ['on_success', false, 'running', null],
    ['on_success', false, 'success manual', null],
    ['on_success', false, 'success manual?', 'pending'],
    ['on_success', true, 'success manual?', 'skipped'],
    ['on_success', false, 'failed', 'skipped'],
    ['on_success', false, 'canceled', 'skipped'],
    ['on_failure', false, 'failed', 'pending'],
    ['on_failure', false, 'success', 'skipped'],
    ['on_failure', false, 'failed?', 'skipped'],
    ['always', false, 'failed', 'pending'],
    ['always', true, 'failed', 'pending'],
    ['always', true, 'skipped', 'pending'],
    ['always', false, 'canceled', 'skipped'],
    ['manual', false, 'success', 'manual'],
    ['manual', false, 'failed', 'skipped'],
    ['delayed', true, 'success', 'scheduled'],
  ])('%s, by needs %s, after %s: %s', (when, byNeeds, text, state) => {
    expect(nextState({ when, needs: byNeeds ? need : null }, jobs(text))).toBe(state)
  })
})
