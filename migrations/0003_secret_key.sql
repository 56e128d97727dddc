CREATE TABLE "installation" (
	"id" bigint PRIMARY KEY NOT NULL,
	"key_check" text NOT NULL,
	"bucket_owner" text NOT NULL
);
