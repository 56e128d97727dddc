import { startTextThread } from '../start-text-thread.js'
import { highlightLines } from './highlight.js'
import type { HighlightTask } from './highlighter.js'

/** The thread of `Highlighter`. */
startTextThread(({ source, language, wanted }: HighlightTask) => highlightLines(source, language, wanted)?.join('\n') ?? '')
