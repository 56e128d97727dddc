/** The ref by which Git clients fetch the head of a merge request (GH-8). */
export const headRef = (iid: number) => `refs/merge-requests/${iid}/head`
