import { defineLanguageFacet, Language } from '@codemirror/language'
import { GFM, parser } from '@lezer/markdown'

// the parser alone: the usual package brings those of HTML, CSS and JavaScript
export const markdown = new Language(defineLanguageFacet(), parser.configure(GFM), [], 'markdown')
