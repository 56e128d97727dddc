CREATE TABLE "doomed_avatars" (
	"kind" text NOT NULL,
	"id" bigint NOT NULL,
	CONSTRAINT "doomed_avatars_kind_id_pk" PRIMARY KEY("kind","id")
);
