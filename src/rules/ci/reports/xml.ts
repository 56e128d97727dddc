import { SaxesParser, type SaxesTagPlain } from 'saxes'

/** Elements of a report; one with more is not read further. */
const MAX_ELEMENTS = 500_000
const MAX_DEPTH = 200

export interface XmlEvents {
  open(name: string, attributes: Record<string, string>): void
  text?(text: string): void
  close?(name: string): void
}

/** Reads XML as a stream; throws where it is not well-formed or too large. Entities of a DTD are not read, so that none grow. */
export function readXml(xml: string, events: XmlEvents): void {
  const parser = new SaxesParser()
  let elements = 0
  let depth = 0
  parser.on('error', (error) => {
    throw error
  })
  parser.on('opentag', ({ name, attributes }: SaxesTagPlain) => {
    if (++elements > MAX_ELEMENTS || ++depth > MAX_DEPTH) throw new Error('the report has too many elements')
    events.open(name, attributes)
  })
  parser.on('closetag', ({ name }) => {
    depth--
    events.close?.(name)
  })
  const text = events.text?.bind(events)
  if (text) {
    parser.on('text', text)
    parser.on('cdata', text)
  }
  parser.write(xml.replace(/^\uFEFF/, '')).close()
}
