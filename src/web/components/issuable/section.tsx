import type { ComponentChildren } from 'preact'

/** A part of the column beside an issue or merge request. */
export const Section = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section>
    <h2>{title}</h2>
    {children}
  </section>
)
