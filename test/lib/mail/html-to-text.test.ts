import { describe, expect, it } from 'vitest'
import { htmlToText } from '../../../src/lib/mail/html-to-text.js'

describe('the text of an HTML mail (ML-624)', () => {
  it.each([
    ['<p>One &amp; two</p><p>Three<br>four</p>', 'One & two\n\nThree\nfour'],
    ['<div>One</div><div><br></div><div>Two</div>', 'One\n\nTwo'],
    ['<ul><li>a</li><li>b</li></ul>', '- a\n- b'],
    ['<a href="https://example.com/x">Here</a> and <a href="javascript:alert(1)">there</a>', 'Here (https://example.com/x) and there'],
    ['<a href="https://example.com">https://example.com</a>', 'https://example.com'],
    ['<style>p{}</style><script>x</script><title>t</title>Text', 'Text'],
    ['<pre>a\n  b</pre>', 'a\n  b'],
    ['<blockquote>Their words</blockquote>Mine', '> Their words\n\nMine'],
    ['Yes.<div class="gmail_quote">On Monday Ann wrote:<blockquote>Is it?</blockquote></div>', 'Yes.'],
    ['Yes.<blockquote type="cite">Is it?</blockquote>', 'Yes.'],
    ['Yes.<div id="appendonsend"></div>', 'Yes.'],
    ['a<table><tr><td>1</td><td>2</td></tr></table>', 'a\n\n1 2'],
    ['&lt;script&gt;', '<script>'],
    ['', ''],
  ])('%s', (html, text) => expect(htmlToText(html)).toBe(text))

  it('is found in time in proportion to what is written, whatever it is', () => {
    for (const part of ['<div>', '<blockquote>', '<a href=x>', '</p>', '<', '&', '<li>', '<pre>\n', '<b x="'])
      expect(htmlToText(part.repeat(500_000 / part.length)).length).toBeLessThan(20_000_000)
  })
})
