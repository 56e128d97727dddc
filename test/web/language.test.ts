import { load } from 'cheerio'
import { describe, expect, it } from 'vitest'
import { inLanguage, languageOf, plural, said, t } from '../../src/web/language/language.js'
import { testApp } from '../support/app.js'
import { TestBrowser } from '../support/browser.js'
import { aCommit, aProject, aUser } from '../support/factories.js'

const service = testApp()

describe('the language of a page', () => {
  it('is the choice of the account, or the first that the browser asks for and there is, or English (WB-800)', () => {
    expect(languageOf('fr', 'de')).toBe('fr')
    expect(languageOf(null, 'de-AT,en;q=0.8')).toBe('de')
    expect(languageOf(null, 'es, fr;q=0.3, de;q=0.7')).toBe('de')
    expect(languageOf('xx', 'es')).toBe('en')
    expect(languageOf(null, undefined)).toBe('en')
    expect(languageOf(null, 'de;q=0, constructor')).toBe('en')
    expect(languageOf(null, `${'x,'.repeat(500_000)}de`)).toBe('en')
  })

  it('has texts, plurals and what services say, each in English outside of a page (WB-802, WB-803, WB-804)', async () => {
    expect([t('Issue updated.'), t('Page {page} of {last}', { page: 2, last: 3 })]).toEqual(['Issue updated.', 'Page 2 of 3'])
    expect([0, 1, 2].map((count) => plural(count, '{count} star', '{count} stars'))).toEqual(['0 stars', '1 star', '2 stars'])
    await inLanguage('de', () => {
      expect(t('Page {page} of {last}', { page: 2, last: 3 })).toBe('Seite 2 von 3')
      expect(plural(1, '{count} star', '{count} stars')).toBe('1 Stern')
      expect(said('is too long (maximum is 255 characters)')).toBe('ist zu lang (höchstens 255 Zeichen)')
      expect(said('is unheard of, 1234 times')).toBe('is unheard of, 1234 times')
    })
    // no plural for nothing in French
    expect(await inLanguage('fr', () => plural(0, '{count} star', '{count} stars'))).toBe('0 étoile')
  })

  it('does not mix with that of another page that is made at the same time (WB-801)', async () => {
    const later = () => new Promise((resolve) => setTimeout(resolve, 1))
    const say = async () => {
      await later()
      return t('Settings')
    }
    const all = await Promise.all(['de', 'fr', 'en', 'de', 'fr'].map((language) => inLanguage(language as 'de', say)))
    expect(all).toEqual(['Einstellungen', 'Paramètres', 'Settings', 'Einstellungen', 'Paramètres'])
  })
})

describe('pages in a language', () => {
  const german = { 'accept-language': 'de-DE,de;q=0.9,en;q=0.5' }

  it('are shown to visitors as their browser asks for, and say so (WB-800)', async () => {
    const { url } = service
    const answer = await fetch(`${url}/users/sign_in`, { headers: { accept: 'text/html', ...german } })
    expect(answer.headers.get('content-language')).toBe('de')
    expect(answer.headers.get('vary')).toContain('accept-language')
    const text = await answer.text()
    expect(text).toContain('<html lang="de"')
    expect(text).toContain('Bei Roost anmelden')
    expect(await (await fetch(`${url}/users/sign_in`, { headers: { accept: 'text/html', 'accept-language': 'tlh' } })).text()).toContain(
      'Sign in to Roost',
    )
    expect(await (await fetch(`${url}/nothing/here`, { headers: { accept: 'text/html', ...german }, redirect: 'manual' })).status).toBe(302)
  })

  it('are those that the user has chosen, in whatever browser (WB-800)', async () => {
    const { url, ctx } = service
    const user = await aUser(ctx)
    const browser = new TestBrowser(url, german)
    await browser.signIn(user)
    expect((await browser.open('/-/profile')).$('h1').text()).toBe('Profil')
    const saved = await browser.submit('Profil speichern', { 'user[preferred_language]': 'fr' })
    expect(saved.status).toBe(200)
    const page = await browser.open('/-/profile')
    expect([page.$('html').attr('lang'), page.$('label[for="user_name"]').text()]).toEqual(['fr', 'Nom'])
    const other = new TestBrowser(url)
    await other.signIn(user)
    expect((await other.open('/-/profile')).$('html').attr('lang')).toBe('fr')
    const back = await other.submit('Enregistrer le profil', { 'user[preferred_language]': '' })
    expect((await other.open('/-/profile')).$('html').attr('lang')).toBe('en')
    expect(back.status).toBe(200)
  })

  it('show what is wrong with a form in it (WB-804)', async () => {
    const { url, ctx } = service
    const user = await aUser(ctx)
    const project = await aProject(ctx, { creator: user })
    const browser = new TestBrowser(url, german)
    await browser.signIn(user)
    await browser.open(`/${project.fullPath}/-/issues/new`)
    const refused = await browser.submit('Issue erstellen', { 'issue[title]': '' })
    expect(refused.status).toBe(422)
    expect(refused.$('.fault').text()).toBe('Titel darf nicht leer sein.')
    await browser.open(`/${project.fullPath}/-/issues/new`)
    const made = await browser.submit('Issue erstellen', { 'issue[title]': 'Open' })
    expect(made.$('.flash').text()).toBe('Issue erstellt.')
    // what people wrote is no text of a page
    expect(made.$('h1').text()).toContain('Open')
  })

  it('have changes in it that a reader of another one has seen before (WB-801)', async () => {
    const { url, ctx } = service
    const project = await aProject(ctx, { creator: await aUser(ctx), visibility: 'public' })
    const sha = await aCommit(ctx, project, { 'a.ts': 'one\n', 'b.ts': 'two\n' })
    const words = {
      de: ['2 Dateien geändert', 'Datei ansehen'],
      fr: ['2 fichiers modifiés', 'Voir le fichier'],
      en: ['2 files changed', 'View file'],
    }
    for (const language of ['de', 'fr', 'en', 'de'] as const) {
      const answer = await fetch(`${url}/${project.fullPath}/-/commit/${sha}`, { headers: { accept: 'text/html', 'accept-language': language } })
      const text = load(await answer.text()).text()
      for (const [each, texts] of Object.entries(words))
        expect([language, each, texts.filter((word) => text.includes(word))]).toEqual([language, each, each === language ? texts : []])
    }
  })

  it('are each in their own, at the same time (WB-801)', async () => {
    const { url, ctx } = service
    const project = await aProject(ctx, { creator: await aUser(ctx), visibility: 'public' })
    const languages = ['de', 'fr', 'en'] as const
    const open = async (language: string) => {
      const answer = await fetch(`${url}/${project.fullPath}/-/issues`, { headers: { accept: 'text/html', 'accept-language': language } })
      return answer.text()
    }
    const asked = Array.from({ length: 18 }, (_, i) => languages[i % 3] as (typeof languages)[number])
    const words = { de: 'Keine solchen Issues.', fr: 'Il n&#39;y a pas de tels tickets.', en: 'There are no such issues.' }
    for (const [i, text] of (await Promise.all(asked.map(open))).entries()) {
      const language = asked[i] as keyof typeof words
      for (const [each, word] of Object.entries(words))
        expect(text.replaceAll('’', "'").includes(word) || text.includes(word.replace('&#39;', "'")), `${language} ${each}`).toBe(each === language)
    }
  })
})
