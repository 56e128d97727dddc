// The editor of a file, over the text area of its form, which stays what is sent.
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { search, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState } from '@codemirror/state'
import { EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { isMarkdown, languageOf } from './languages.js'

const texts = JSON.parse(document.querySelector('script[data-texts]')?.dataset.texts ?? '{}')
/** A text in the language of the page. */
const say = (text) => texts[text] ?? text

const colors = HighlightStyle.define([
  { tag: [tags.comment, tags.quote], color: 'var(--comment)' },
  { tag: [tags.keyword, tags.standard(tags.variableName), tags.tagName, tags.self], color: 'var(--keyword)' },
  { tag: [tags.string, tags.regexp, tags.monospace, tags.url], color: 'var(--string)' },
  { tag: [tags.number, tags.bool, tags.atom, tags.null, tags.escape], color: 'var(--number)' },
  {
    tag: [tags.definition(tags.variableName), tags.typeName, tags.className, tags.attributeName, tags.propertyName, tags.meta],
    color: 'var(--name)',
  },
  { tag: tags.heading, color: 'var(--name)', fontWeight: '600' },
  { tag: tags.strong, fontWeight: '600' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: tags.strikethrough, textDecoration: 'line-through' },
  { tag: tags.inserted, color: 'var(--success)' },
  { tag: tags.deleted, color: 'var(--danger)' },
])

// the values of the page, which has them for light and dark
const look = EditorView.theme({
  '&': {
    height: 'min(70vh, 48rem)',
    minHeight: '16rem',
    resize: 'vertical',
    overflow: 'hidden',
    background: 'var(--ground)',
    border: '1px solid var(--field)',
    borderRadius: 'var(--radius)',
    color: 'var(--text)',
    fontSize: 'var(--code-size)',
  },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--code)', lineHeight: '1.25rem', overflow: 'auto', fontVariantLigatures: 'none' },
  '.cm-content': { caretColor: 'var(--text)', padding: 'var(--space-2) 0' },
  '.cm-gutters': { background: 'var(--soft)', color: 'var(--dim)', borderRight: 'var(--hairline)' },
  '.cm-lineNumbers .cm-gutterElement': { minWidth: '2.5rem', padding: '0 var(--space-3)' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--accent) 7%, transparent)' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--sunk)', color: 'var(--text)' },
  '.cm-specialChar': { color: 'var(--danger)' },
  '&.cm-focused .cm-matchingBracket': { background: 'var(--accent-ground)', outline: '1px solid var(--accent)' },
  '&.cm-focused .cm-nonmatchingBracket': { background: 'var(--danger-ground)' },
  '.cm-searchMatch': { background: 'var(--waiting-ground)', outline: '1px solid var(--waiting)' },
  '.cm-searchMatch-selected': { background: 'var(--accent-ground)', outline: '2px solid var(--accent)' },
  '.cm-panels': { background: 'var(--soft)', color: 'var(--text)', borderBottom: 'var(--hairline)' },
  '.cm-panels.cm-panels-top': { borderBottom: 'var(--hairline)' },
  '.cm-panel.cm-search': {
    display: 'flex',
    flexWrap: 'wrap',
    gap: 'var(--space-2)',
    alignItems: 'center',
    padding: 'var(--space-3)',
    paddingRight: '2.5rem',
  },
  '.cm-panel.cm-search br': { flexBasis: '100%', height: '0', content: '""' },
  '.cm-panel.cm-search :is(input, button, label)': { margin: '0', font: '400 var(--type-list) / 1.25rem var(--sans)', color: 'inherit' },
  '.cm-panel.cm-search label': { display: 'inline-flex', gap: 'var(--space-1)', alignItems: 'center' },
  '.cm-panel.cm-search input[type=checkbox]': { accentColor: 'var(--accent)' },
  '.cm-panel .cm-textfield': {
    minHeight: '1.75rem',
    padding: '0 var(--space-3)',
    background: 'var(--ground)',
    border: '1px solid var(--field)',
    borderRadius: 'var(--radius)',
  },
  '.cm-panel .cm-button': {
    minHeight: '1.75rem',
    padding: '0 var(--space-3)',
    background: 'var(--button)',
    border: '1px solid var(--edge)',
    borderRadius: 'var(--radius)',
    cursor: 'pointer',
  },
  '.cm-panel .cm-button:hover': { background: 'var(--button-hover)' },
  '.cm-panel.cm-search button[name=close]': {
    top: 'var(--space-2)',
    right: 'var(--space-3)',
    width: '1.75rem',
    height: '1.75rem',
    fontSize: '1.25rem',
    cursor: 'pointer',
  },
  '.cm-panels :is(input, button):focus-visible': { outline: '2px solid var(--accent)' },
})

/** What one step of indentation is: as in the text, or as is usual for the file. */
function unitOf(text, path) {
  const [, found] = /^(\t| {2,8})\S/m.exec(text) ?? []
  return found ?? (/(?:\.go|\.mk|(?:^|\/)makefile)$/i.test(path) ? '\t' : '  ')
}

function open(text) {
  const { form } = text
  const field = text.closest('.field')
  /** The field for the name of the file. */
  const name = form.elements[text.dataset.name]
  const language = new Compartment()
  const pathNow = () => text.dataset.path + name.value

  // in a root of its own its styles need no exception to the policy of the page
  const host = document.createElement('div')
  const root = host.attachShadow({ mode: 'open' })
  text.after(host)
  text.hidden = true
  let isStale = false
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text.value,
      extensions: [
        lineNumbers(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        highlightSpecialChars(),
        history(),
        indentOnInput(),
        indentUnit.of(unitOf(text.value, pathNow())),
        EditorState.tabSize.of(4),
        bracketMatching(),
        search({ top: true }),
        syntaxHighlighting(colors),
        look,
        keymap.of([indentWithTab, ...searchKeymap, ...historyKeymap, ...defaultKeymap]),
        language.of([]),
        EditorView.contentAttributes.of({
          'aria-label': field.querySelector('label').textContent,
          'aria-description': field.querySelector('.hint').textContent,
          tabindex: '0',
          spellcheck: 'false',
        }),
        EditorView.updateListener.of(({ docChanged }) => {
          if (!docChanged) return
          isStale = true
          // a changed text is not left without a question
          text.dispatchEvent(new Event('input', { bubbles: true }))
        }),
      ],
    }),
  })
  const save = () => {
    if (isStale) text.value = view.state.doc.toString()
    isStale = false
  }
  form.addEventListener('formdata', ({ formData }) => {
    save()
    formData.set(text.name, text.value)
  })
  addEventListener('pagehide', save)
  const colour = async () => {
    const path = pathNow()
    const known = await languageOf(path)
    if (path === pathNow()) view.dispatch({ effects: language.reconfigure([known, isMarkdown(path) ? EditorView.lineWrapping : []]) })
  }
  // only Markdown looks different from its text
  const preview = form.querySelector('.views [value=text]')
  const named = () => {
    if (preview) preview.hidden = name.value !== '' && !isMarkdown(name.value)
    void colour()
  }
  name.addEventListener('change', named)
  named()
  field.querySelector('label').addEventListener('click', () => view.focus())
  // the keys of the page are letters here
  for (const kind of ['keydown', 'keyup', 'keypress']) host.addEventListener(kind, (event) => event.stopPropagation())

  // the views of the text: each is asked for as without scripts, and shown in its place
  const views = form.querySelector('.views')
  const shown = () => form.querySelector('#shown')
  const show = (part, button) => {
    shown().replaceWith(part)
    field.hidden = button.value !== ''
    for (const each of views.querySelectorAll('button')) {
      if (each === button) each.setAttribute('aria-current', 'true')
      else each.removeAttribute('aria-current')
    }
  }
  views?.addEventListener('click', async (event) => {
    const button = event.target.closest('button')
    if (!button) return
    event.preventDefault()
    if (button.value === '') {
      show(Object.assign(document.createElement('div'), { id: 'shown' }), button)
      view.requestMeasure()
      return view.focus()
    }
    const data = new FormData(form)
    data.set(button.name, button.value)
    const answer = await fetch(form.action, { method: 'POST', body: data, headers: { accept: 'text/html' } }).catch(() => null)
    const page = answer && new DOMParser().parseFromString(await answer.text(), 'text/html')
    const part = page?.getElementById('shown')
    if (!part) return alert(say('This could not be shown. Are you still signed in?'))
    show(part, button)
  })
  const current = views?.querySelector('[aria-current]')
  field.hidden = Boolean(current?.value)
}

for (const text of document.querySelectorAll('textarea[data-code]')) open(text)
