/** The ref by which Git clients fetch the head of a merge request (GH-8). */
export const headRef = (iid: number) => `refs/merge-requests/${iid}/head`

/** The ref that holds what merging a merge request would give (RX-12). */
export const mergeRef = (iid: number) => `refs/merge-requests/${iid}/merge`
