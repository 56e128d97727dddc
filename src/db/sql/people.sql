-- Columns with several users have no foreign keys: who is removed is taken out of them, with the time of the request of a
-- review (MR-620).
DROP FUNCTION IF EXISTS take_out_person() CASCADE;

CREATE FUNCTION take_out_person() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE issues SET assignee_ids = array_remove(assignee_ids, OLD.id) WHERE assignee_ids <> '{}' AND assignee_ids @> ARRAY[OLD.id];
  UPDATE merge_requests SET assignee_ids = array_remove(assignee_ids, OLD.id) WHERE assignee_ids <> '{}' AND assignee_ids @> ARRAY[OLD.id];
  UPDATE merge_requests SET (reviewer_ids, reviews_requested_at) = (
      SELECT coalesce(array_agg(r.id ORDER BY r.place), '{}'), coalesce(array_agg(r.at ORDER BY r.place), '{}')
      FROM unnest(reviewer_ids, reviews_requested_at) WITH ORDINALITY AS r (id, at, place) WHERE r.id <> OLD.id)
    WHERE reviewer_ids <> '{}' AND reviewer_ids @> ARRAY[OLD.id];
  RETURN NULL;
END $$;

CREATE TRIGGER take_out_person AFTER DELETE ON users FOR EACH ROW EXECUTE FUNCTION take_out_person();
