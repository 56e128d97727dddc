import { currentLanguage, plural, text, unfilled } from '../language/language.js'

/** What the scripts of pages say by themselves. */
const TEXTS = [
  text('just now'),
  text('Copied'),
  text('Not copied'),
  text('Find a file'),
  text('The preview could not be made. Are you still signed in?'),
  text('The file could not be attached.'),
  text('Suggestions'),
  text('Restore what you typed before'),
  text('This could not be looked for. Press Enter to try again.'),
  text('There is no such file.'),
  text('1 file'),
  text(', the best {count} are shown'),
  text('Next in the list or the changes'),
  text('The one before'),
  text('Send what is typed'),
  text('Keys of this page'),
  text('Close'),
  text('The card could not be moved. Are you still signed in?'),
  text('This could not be shown. Are you still signed in?'),
  text('Diagram'),
  text('Source of the diagram'),
] as const

/** English → the language of the page, for its scripts, which know English (WB-806). */
export const scriptTexts = (): string | undefined =>
  currentLanguage() === 'en'
    ? undefined
    : JSON.stringify({
        ...Object.fromEntries(TEXTS.map((each) => [each, unfilled(each)])),
        '{count} files': plural(2, '{count} file', '{count} files', { count: '{count}' }),
      })
