CREATE SCHEMA dperm;
CREATE FUNCTION dperm.admit_entry() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
    BEGIN
        IF NEW.seq <> (SELECT COALESCE(MAX(seq), 0) + 1 FROM dperm.entry WHERE account = NEW.account) THEN
            RAISE EXCEPTION 'a line follows the last one' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF (NEW.seq = 1) <> (NEW.kind = 'open') THEN
            RAISE EXCEPTION 'an account begins with its opening' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF NEW.kind NOT IN ('reserve', 'commit', 'burn')
                AND NOT has_column_privilege('dperm.meter', 'capacity', 'UPDATE') THEN
            RAISE EXCEPTION 'accounts, limits and approvals are for the owner'
                USING ERRCODE = 'insufficient_privilege';
        END IF;
        RETURN NEW;
    END
    $$;
CREATE FUNCTION dperm.refuse() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
    BEGIN
        RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
    END
    $$;
CREATE TABLE dperm.entry (
    number bigint NOT NULL,
    account text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    request_id text COLLATE pg_catalog."C",
    about bigint,
    cost text NOT NULL,
    body text NOT NULL,
    at text NOT NULL,
    previous text NOT NULL COLLATE pg_catalog."C",
    hash text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE dperm.entry ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME dperm.entry_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE dperm.ledger (
    format integer NOT NULL,
    public_key text NOT NULL,
    signing_key text NOT NULL,
    fingerprint_key text NOT NULL
);
CREATE TABLE dperm.meter (
    account text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    capacity bigint NOT NULL,
    spent bigint NOT NULL,
    CONSTRAINT meter_within CHECK (((spent >= 0) AND (spent <= capacity)))
);
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (1, 'pure', 1, 'open', NULL, NULL, '{}', '{"dataset": "made up pure", "unit": "one person", "limit": {"kind": "PureDP", "epsilon": 4.0, "adjacency": "replace_one"}, "blocks": null, "composition": "basic", "parents": [], "approval": false, "fingerprints": [], "exponent": 54, "meters": {"epsilon": [72057594037927936, 0]}}', '2026-11-18T00:36:25.583+00:00', '0000000000000000000000000000000000000000000000000000000000000000', '3a99de1884dedce472c716f39953b4ad16916e6091e58ca2ec26a9381013b83c');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (2, 'pure', 2, 'reserve', 'first', NULL, '{"epsilon": 900719925474100}', '{"event": {"dperm_event": 1, "type": "laplace", "noise_multiplier": 40.0}, "facts": {}, "token": "41b50e071dda76296d262b5e31798885", "meters": {"epsilon": [72057594037927936, 900719925474100]}}', '2026-11-18T00:36:25.601+00:00', '3a99de1884dedce472c716f39953b4ad16916e6091e58ca2ec26a9381013b83c', '4f456ab9ed334ae802198fb82bc54c60b0e4b96da2be8f2af0a64fa0dbc46275');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (3, 'pure', 3, 'commit', NULL, 2, '{}', '{"digest": "sha256:1", "meters": {"epsilon": [72057594037927936, 900719925474100]}}', '2026-11-18T00:36:25.607+00:00', '4f456ab9ed334ae802198fb82bc54c60b0e4b96da2be8f2af0a64fa0dbc46275', 'cde9ddd44920e8ac72b241e1199f9f2f2ccc4785297cc1a005d633386fdd2916');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (4, 'pure', 4, 'reserve', 'second', NULL, '{"epsilon": 720575940379280}', '{"event": {"dperm_event": 1, "type": "laplace", "noise_multiplier": 50.0}, "facts": {}, "token": "785e163a1c4e5ffdd6f9d7205d6d3b0f", "meters": {"epsilon": [72057594037927936, 1621295865853380]}}', '2026-11-18T00:36:25.618+00:00', 'cde9ddd44920e8ac72b241e1199f9f2f2ccc4785297cc1a005d633386fdd2916', '79aafa5000e26c6499d45a947b72045f41ade94199705524817f45e587ea9bdb');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (5, 'pure', 5, 'burn', NULL, 4, '{}', '{"reason": "ValueError", "meters": {"epsilon": [72057594037927936, 1621295865853380]}}', '2026-11-18T00:36:25.622+00:00', '79aafa5000e26c6499d45a947b72045f41ade94199705524817f45e587ea9bdb', '858f14961d980aa01997c51d708877d445e6744ff7cbad5dc76b7a938c774637');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (6, 'approximate', 1, 'open', NULL, NULL, '{}', '{"dataset": "made up approximate", "unit": "one person", "limit": {"kind": "ApproxDP", "epsilon": 4.0, "delta": 1e-05, "adjacency": "add_remove"}, "blocks": 8, "composition": "basic", "parents": [], "approval": false, "fingerprints": [], "exponent": 54, "meters": {"epsilon": [72057594037927936, 0], "delta": [8, 0]}}', '2026-11-18T00:36:25.637+00:00', '0000000000000000000000000000000000000000000000000000000000000000', '8aa5f5485fdb33a3570db5fc801091d4bcc3798037cd1cd9773bd75ff2d4d453');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (7, 'approximate', 2, 'reserve', 'first', NULL, '{"epsilon": 1598885979464063, "delta": 1}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 40.0}, "facts": {}, "token": "f7baa91801aca208bc2fa54ba1f237b6", "meters": {"epsilon": [72057594037927936, 1598885979464063], "delta": [8, 1]}}', '2026-11-18T00:36:25.651+00:00', '8aa5f5485fdb33a3570db5fc801091d4bcc3798037cd1cd9773bd75ff2d4d453', 'ea07a368ab8945ac0312689e91385c0e797a6dca256665317fe0d0d2a25a69e6');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (8, 'approximate', 3, 'commit', NULL, 2, '{}', '{"digest": "sha256:1", "meters": {"epsilon": [72057594037927936, 1598885979464063], "delta": [8, 1]}}', '2026-11-18T00:36:25.660+00:00', 'ea07a368ab8945ac0312689e91385c0e797a6dca256665317fe0d0d2a25a69e6', 'd7089fce71cfedefb97f86fed34d06a915275ff336b6a903ff8f175442563fda');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (9, 'approximate', 4, 'reserve', 'second', NULL, '{"epsilon": 1258144105124971, "delta": 1}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 50.0}, "facts": {}, "token": "4b7e24d0eaaee0a0088cc460e49b0037", "meters": {"epsilon": [72057594037927936, 2857030084589034], "delta": [8, 2]}}', '2026-11-18T00:36:25.671+00:00', 'd7089fce71cfedefb97f86fed34d06a915275ff336b6a903ff8f175442563fda', '4a96d5ebdff6b2268332b799c6c277da40b47d9bdf28859aa8aaea177ae41daf');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (10, 'approximate', 5, 'burn', NULL, 4, '{}', '{"reason": "ValueError", "meters": {"epsilon": [72057594037927936, 2857030084589034], "delta": [8, 2]}}', '2026-11-18T00:36:25.679+00:00', '4a96d5ebdff6b2268332b799c6c277da40b47d9bdf28859aa8aaea177ae41daf', '11f3a03debfbb75da9e1cd2b9e34a2ce3a164d930ffc621ba638fab7551e9c8d');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (11, 'advanced', 1, 'open', NULL, NULL, '{}', '{"dataset": "made up advanced", "unit": "one person", "limit": {"kind": "ApproxDP", "epsilon": 4.0, "delta": 1e-05, "adjacency": "replace_one"}, "blocks": 8, "composition": "advanced", "parents": [], "approval": false, "fingerprints": [], "exponent": 57, "meters": {"epsilon_squared": [101479787878557872, 0], "delta": [8, 0]}}', '2026-11-18T00:36:25.691+00:00', '0000000000000000000000000000000000000000000000000000000000000000', '815f12a6480671ea9b097fefba067475171f000ee9fedecbd035040efe490458');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (12, 'advanced', 2, 'reserve', 'first', NULL, '{"epsilon_squared": 360287970189640, "delta": 1}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 40.0}, "facts": {}, "token": "53a421edc67c7da23cf273a0b3750744", "meters": {"epsilon_squared": [101479787878557872, 360287970189640], "delta": [8, 1]}}', '2026-11-18T00:36:25.713+00:00', '815f12a6480671ea9b097fefba067475171f000ee9fedecbd035040efe490458', '01e5db98657e556f382eae1e3bd56b29231bc5156fa77dd5401f5ac938feea38');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (13, 'advanced', 3, 'commit', NULL, 2, '{}', '{"digest": "sha256:1", "meters": {"epsilon_squared": [101479787878557872, 360287970189640], "delta": [8, 1]}}', '2026-11-18T00:36:25.722+00:00', '01e5db98657e556f382eae1e3bd56b29231bc5156fa77dd5401f5ac938feea38', '0c032a4c1a30e4755bd687eeabe5d5237a02e8d910bdb15ea8fad3b96a579e19');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (14, 'advanced', 4, 'reserve', 'second', NULL, '{"epsilon_squared": 230584300921370, "delta": 1}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 50.0}, "facts": {}, "token": "fe979205f0d71bf9dafbeca43520d223", "meters": {"epsilon_squared": [101479787878557872, 590872271111010], "delta": [8, 2]}}', '2026-11-18T00:36:25.737+00:00', '0c032a4c1a30e4755bd687eeabe5d5237a02e8d910bdb15ea8fad3b96a579e19', '12cfbb5c8424f4423041ae1ba53964a59d912ad069e41e9aba0346725046b7de');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (15, 'advanced', 5, 'burn', NULL, 4, '{}', '{"reason": "ValueError", "meters": {"epsilon_squared": [101479787878557872, 590872271111010], "delta": [8, 2]}}', '2026-11-18T00:36:25.742+00:00', '12cfbb5c8424f4423041ae1ba53964a59d912ad069e41e9aba0346725046b7de', '0595457046a9783fbf54d3e09ba31bdd1534d7a9f2db79942cbfcfa62b64ff09');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (16, 'zcdp', 1, 'open', NULL, NULL, '{}', '{"dataset": "made up zcdp", "unit": "one person", "limit": {"kind": "ZCDP", "rho": 0.5, "adjacency": "add_remove"}, "blocks": null, "composition": "basic", "parents": [], "approval": false, "fingerprints": [], "exponent": 57, "meters": {"rho": [72057594037927936, 0]}}', '2026-11-18T00:36:25.752+00:00', '0000000000000000000000000000000000000000000000000000000000000000', 'b522a95a0f6c6a2a3bf79a376126f759feb7b774acdee36992b87b2e95af4908');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (17, 'zcdp', 2, 'reserve', 'first', NULL, '{"rho": 45035996273705}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 40.0}, "facts": {}, "token": "a9f2bfed0e9d4bdc735d1fac1a2f71d2", "meters": {"rho": [72057594037927936, 45035996273705]}}', '2026-11-18T00:36:25.760+00:00', 'b522a95a0f6c6a2a3bf79a376126f759feb7b774acdee36992b87b2e95af4908', '96bff150e36fc6c2ca7440ca1cae91468806d0ce9fe6f7d7304859edd178f5f1');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (18, 'zcdp', 3, 'commit', NULL, 2, '{}', '{"digest": "sha256:1", "meters": {"rho": [72057594037927936, 45035996273705]}}', '2026-11-18T00:36:25.765+00:00', '96bff150e36fc6c2ca7440ca1cae91468806d0ce9fe6f7d7304859edd178f5f1', 'b89f919080977edd89f53ae1e0ed123ba899581eba1da3ee30b299a82535d60d');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (19, 'zcdp', 4, 'reserve', 'second', NULL, '{"rho": 28823037615172}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 50.0}, "facts": {}, "token": "ca23544109a9fbfdafb58dd439fe3e75", "meters": {"rho": [72057594037927936, 73859033888877]}}', '2026-11-18T00:36:25.772+00:00', 'b89f919080977edd89f53ae1e0ed123ba899581eba1da3ee30b299a82535d60d', '5a2c54e15f26d494bb0c9f32619a7119a257238cf6028e930aa7329aacf7b5c1');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (20, 'zcdp', 5, 'burn', NULL, 4, '{}', '{"reason": "ValueError", "meters": {"rho": [72057594037927936, 73859033888877]}}', '2026-11-18T00:36:25.777+00:00', '5a2c54e15f26d494bb0c9f32619a7119a257238cf6028e930aa7329aacf7b5c1', '52be369cff2067ae4369f7a1b47f1bc9d4396bd0b5bb6d20383763e98b57e918');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (21, 'gdp', 1, 'open', NULL, NULL, '{}', '{"dataset": "made up gdp", "unit": "one person", "limit": {"kind": "GDP", "mu": 2.0, "adjacency": "add_remove"}, "blocks": null, "composition": "basic", "parents": [], "approval": false, "fingerprints": [], "exponent": 54, "meters": {"mu_squared": [72057594037927936, 0]}}', '2026-11-18T00:36:25.787+00:00', '0000000000000000000000000000000000000000000000000000000000000000', 'f37673fa3665e2d6df1911ae89fdda621c040c33c49fb4b70bd62b657cc2da53');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (22, 'gdp', 2, 'reserve', 'first', NULL, '{"mu_squared": 11258999068427}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 40.0}, "facts": {}, "token": "30254b6fea9036420f51a4e3543a6f03", "meters": {"mu_squared": [72057594037927936, 11258999068427]}}', '2026-11-18T00:36:25.795+00:00', 'f37673fa3665e2d6df1911ae89fdda621c040c33c49fb4b70bd62b657cc2da53', '36945aec820796c220b561c6a59552176356e5305de1518ce078093dd9b1e3b9');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (23, 'gdp', 3, 'commit', NULL, 2, '{}', '{"digest": "sha256:1", "meters": {"mu_squared": [72057594037927936, 11258999068427]}}', '2026-11-18T00:36:25.799+00:00', '36945aec820796c220b561c6a59552176356e5305de1518ce078093dd9b1e3b9', '4bf6b7e54b27cd66134bfbc126904312ef775caee4658ad5c17b02512cdbaa3a');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (24, 'gdp', 4, 'reserve', 'second', NULL, '{"mu_squared": 7205759403793}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 50.0}, "facts": {}, "token": "6183d9c774c622c651a54eadfa151618", "meters": {"mu_squared": [72057594037927936, 18464758472220]}}', '2026-11-18T00:36:25.807+00:00', '4bf6b7e54b27cd66134bfbc126904312ef775caee4658ad5c17b02512cdbaa3a', 'c20adbd42757e52308217ee61d63836b94eb4a7b6e22c2f8119ccc54c9890fc2');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (25, 'gdp', 5, 'burn', NULL, 4, '{}', '{"reason": "ValueError", "meters": {"mu_squared": [72057594037927936, 18464758472220]}}', '2026-11-18T00:36:25.811+00:00', 'c20adbd42757e52308217ee61d63836b94eb4a7b6e22c2f8119ccc54c9890fc2', 'd88de94f325052bcc075b5561bd3daa6d744f80e18b98e99f3313a183db49ab5');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (26, 'rdp', 1, 'open', NULL, NULL, '{}', '{"dataset": "made up rdp", "unit": "one person", "limit": {"kind": "RDP", "curve": [[8.0, 3.0]], "adjacency": "add_remove"}, "blocks": null, "composition": "basic", "parents": [], "approval": false, "fingerprints": [], "exponent": 55, "meters": {"tau(8.0)": [108086391056891904, 0]}}', '2026-11-18T00:36:25.823+00:00', '0000000000000000000000000000000000000000000000000000000000000000', 'db105cdf3056c60756c9d504d6fe05429638d56f17985089ff3f6097f46ed37c');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (27, 'rdp', 2, 'reserve', 'first', NULL, '{"tau(8.0)": 90071992547410}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 40.0}, "facts": {}, "token": "cce7c3bca54fffcdbdc9ce52985c8b7f", "meters": {"tau(8.0)": [108086391056891904, 90071992547410]}}', '2026-11-18T00:36:25.832+00:00', 'db105cdf3056c60756c9d504d6fe05429638d56f17985089ff3f6097f46ed37c', 'fb39f750a70731fdee13f2ceedb5092df1edf5ef2435d4d05740e51f8a7a4e6a');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (28, 'rdp', 3, 'commit', NULL, 2, '{}', '{"digest": "sha256:1", "meters": {"tau(8.0)": [108086391056891904, 90071992547410]}}', '2026-11-18T00:36:25.836+00:00', 'fb39f750a70731fdee13f2ceedb5092df1edf5ef2435d4d05740e51f8a7a4e6a', 'f60b94034ebeeb09b02ce6564bb81236b3acc58ed3659f307bce0cbe3d0cc431');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (29, 'rdp', 4, 'reserve', 'second', NULL, '{"tau(8.0)": 57646075230343}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 50.0}, "facts": {}, "token": "8ddac8e6a607a44727e8cab7f3cda6f9", "meters": {"tau(8.0)": [108086391056891904, 147718067777753]}}', '2026-11-18T00:36:25.844+00:00', 'f60b94034ebeeb09b02ce6564bb81236b3acc58ed3659f307bce0cbe3d0cc431', 'aeabc3dae2b9257b59625b9047a6b77eb57484f2de5a1c2e6a0bc6be2b1d6462');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (30, 'rdp', 5, 'burn', NULL, 4, '{}', '{"reason": "ValueError", "meters": {"tau(8.0)": [108086391056891904, 147718067777753]}}', '2026-11-18T00:36:25.849+00:00', 'aeabc3dae2b9257b59625b9047a6b77eb57484f2de5a1c2e6a0bc6be2b1d6462', '0a13ffd3c654d7e8078adfcb31ddf9a7337204370e9148a56778fcf21ea45003');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (31, 'child', 1, 'open', NULL, NULL, '{}', '{"dataset": "part", "unit": "one person", "limit": {"kind": "PureDP", "epsilon": 1.0, "adjacency": "replace_one"}, "blocks": null, "composition": "basic", "parents": ["pure"], "approval": false, "fingerprints": [], "exponent": 56, "meters": {"epsilon": [72057594037927936, 0]}}', '2026-11-18T00:36:25.863+00:00', '0000000000000000000000000000000000000000000000000000000000000000', '17e1a15f174da29494b07b242501d41f3d7e366ee29e9bad4362e5b971a4e94d');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (32, 'child', 2, 'reserve', 'third', NULL, '{"epsilon": 4803839602528530}', '{"event": {"dperm_event": 1, "type": "laplace", "noise_multiplier": 30.0}, "facts": {"seeded": true}, "token": "51b0bba8a848da3d815cb12a39e26e4f", "meters": {"epsilon": [72057594037927936, 4803839602528530]}}', '2026-11-18T00:36:25.874+00:00', '17e1a15f174da29494b07b242501d41f3d7e366ee29e9bad4362e5b971a4e94d', '4a97d10eeaaa544fb5a945a89062bf414ebe357e6c24ce362428e25600f4571e');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (33, 'pure', 6, 'reserve', 'child/third', NULL, '{"epsilon": 1200959900632133}', '{"event": {"dperm_event": 1, "type": "laplace", "noise_multiplier": 30.0}, "facts": {"seeded": true}, "token": "51b0bba8a848da3d815cb12a39e26e4f", "meters": {"epsilon": [72057594037927936, 2822255766485513]}}', '2026-11-18T00:36:25.876+00:00', '858f14961d980aa01997c51d708877d445e6744ff7cbad5dc76b7a938c774637', '85d25434b274075d13eb86d0c2a000ed97bdb7b37e7b43f1b7089c1247032ee6');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (34, 'child', 3, 'commit', NULL, 2, '{}', '{"digest": "sha256:3", "meters": {"epsilon": [72057594037927936, 4803839602528530]}}', '2026-11-18T00:36:25.882+00:00', '4a97d10eeaaa544fb5a945a89062bf414ebe357e6c24ce362428e25600f4571e', '9e98f706b36d18810deddb33b36b19cd258890df641680a014e47550541dc22e');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (35, 'pure', 7, 'commit', NULL, 6, '{}', '{"digest": "sha256:3", "meters": {"epsilon": [72057594037927936, 2822255766485513]}}', '2026-11-18T00:36:25.883+00:00', '85d25434b274075d13eb86d0c2a000ed97bdb7b37e7b43f1b7089c1247032ee6', '9f69f05758a9c0762877e89e0486982c47c9a99a88b66c81c9299f2a504b818c');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (36, 'pure', 8, 'limit', NULL, NULL, '{}', '{"limit": {"kind": "PureDP", "epsilon": 5.0, "adjacency": "replace_one"}, "promise": {"kind": "PureDP", "epsilon": 5.0, "adjacency": "replace_one"}, "reason": "one more year", "by": "officer", "meters": {"epsilon": [90071992547409920, 2822255766485513]}}', '2026-11-18T00:36:25.891+00:00', '9f69f05758a9c0762877e89e0486982c47c9a99a88b66c81c9299f2a504b818c', 'ea9acade3128115d1fcc7a9e81dfedf2a3d941457d5032307fd98b40e20c6582');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (37, 'strict', 1, 'open', NULL, NULL, '{}', '{"dataset": "strict", "unit": "one person", "limit": {"kind": "PureDP", "epsilon": 1.0, "adjacency": "replace_one"}, "blocks": null, "composition": "basic", "parents": [], "approval": true, "fingerprints": [], "exponent": 56, "meters": {"epsilon": [72057594037927936, 0]}}', '2026-11-18T00:36:25.905+00:00', '0000000000000000000000000000000000000000000000000000000000000000', '6f29640ace3b779a5b27924cae2666e98eec98ced54c4c87219bd21dd867478c');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (38, 'strict', 2, 'approve', 'asked', NULL, '{}', '{"reason": "reviewed", "by": "officer", "event": {"dperm_event": 1, "type": "laplace", "noise_multiplier": 20.0}, "meters": {"epsilon": [72057594037927936, 0]}}', '2026-11-18T00:36:25.911+00:00', '6f29640ace3b779a5b27924cae2666e98eec98ced54c4c87219bd21dd867478c', 'e6396f7e5a4fd9e4cbbf0b79a321eadf43cbba5b608df891baaa5b0c9ff68415');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (39, 'strict', 3, 'reserve', 'asked', NULL, '{"epsilon": 7205759403792794}', '{"event": {"dperm_event": 1, "type": "laplace", "noise_multiplier": 20.0}, "facts": {}, "token": "1ff2696d719059da677fb60c4a7751e4", "meters": {"epsilon": [72057594037927936, 7205759403792794]}}', '2026-11-18T00:36:25.920+00:00', 'e6396f7e5a4fd9e4cbbf0b79a321eadf43cbba5b608df891baaa5b0c9ff68415', '18e84c443101bcf31e74c265cfced4febf02f89064549ae1d3e284979916a196');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (40, 'strict', 4, 'approve', 'later', NULL, '{}', '{"reason": "reviewed", "by": "officer", "event": null, "meters": {"epsilon": [72057594037927936, 7205759403792794]}}', '2026-11-18T00:36:25.926+00:00', '18e84c443101bcf31e74c265cfced4febf02f89064549ae1d3e284979916a196', '8fac89a5ab39ccae868600a463a9cfc6a3413c81d3007e60c9d55a8da83c07ff');
INSERT INTO dperm.ledger VALUES (1, 'e99afc80c1585f0dbf1441979691113f54b0eb8649bd99ba99b1b3307a48d08b', '0dac85b331e9c51e79a4e5aecf56d062fb40c9dcb213b754a510c5c990c65698', '0c9e4d75447f370ce887af0e7aaa4302dca403456d36a4bec05ac57be12ca952');
INSERT INTO dperm.meter VALUES ('approximate', 'epsilon', 72057594037927936, 2857030084589034);
INSERT INTO dperm.meter VALUES ('approximate', 'delta', 8, 2);
INSERT INTO dperm.meter VALUES ('advanced', 'epsilon_squared', 101479787878557872, 590872271111010);
INSERT INTO dperm.meter VALUES ('advanced', 'delta', 8, 2);
INSERT INTO dperm.meter VALUES ('zcdp', 'rho', 72057594037927936, 73859033888877);
INSERT INTO dperm.meter VALUES ('gdp', 'mu_squared', 72057594037927936, 18464758472220);
INSERT INTO dperm.meter VALUES ('rdp', 'tau(8.0)', 108086391056891904, 147718067777753);
INSERT INTO dperm.meter VALUES ('child', 'epsilon', 72057594037927936, 4803839602528530);
INSERT INTO dperm.meter VALUES ('pure', 'epsilon', 90071992547409920, 2822255766485513);
INSERT INTO dperm.meter VALUES ('strict', 'epsilon', 72057594037927936, 7205759403792794);
SELECT pg_catalog.setval('dperm.entry_number_seq', 40, true);
ALTER TABLE ONLY dperm.entry
    ADD CONSTRAINT entry_account_previous_key UNIQUE (account, previous);
ALTER TABLE ONLY dperm.entry
    ADD CONSTRAINT entry_account_seq_key UNIQUE (account, seq);
ALTER TABLE ONLY dperm.entry
    ADD CONSTRAINT entry_hash_key UNIQUE (hash);
ALTER TABLE ONLY dperm.entry
    ADD CONSTRAINT entry_pkey PRIMARY KEY (number);
ALTER TABLE ONLY dperm.meter
    ADD CONSTRAINT meter_pkey PRIMARY KEY (account, name);
CREATE INDEX by_kind ON dperm.entry USING btree (account, kind, seq);
CREATE UNIQUE INDEX one_closing ON dperm.entry USING btree (account, about) WHERE (about IS NOT NULL);
CREATE UNIQUE INDEX one_ledger ON dperm.ledger USING btree ((true));
CREATE UNIQUE INDEX one_request ON dperm.entry USING btree (account, kind, request_id) WHERE (request_id IS NOT NULL);
CREATE INDEX openings ON dperm.entry USING btree (number) WHERE (kind = 'open'::text);
CREATE INDEX seeded ON dperm.entry USING btree (account) WHERE (strpos(body, '"seeded": true'::text) > 0);
CREATE TRIGGER entry_admitted BEFORE INSERT ON dperm.entry FOR EACH ROW EXECUTE FUNCTION dperm.admit_entry();
CREATE TRIGGER entry_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON dperm.entry FOR EACH STATEMENT EXECUTE FUNCTION dperm.refuse('the books are append-only');
CREATE TRIGGER ledger_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON dperm.ledger FOR EACH STATEMENT EXECUTE FUNCTION dperm.refuse('a ledger keeps its keys');
CREATE TRIGGER meter_forward BEFORE UPDATE ON dperm.meter FOR EACH ROW WHEN (((new.spent < old.spent) OR (new.account <> old.account) OR (new.name <> old.name))) EXECUTE FUNCTION dperm.refuse('what is spent is never given back');
CREATE TRIGGER meter_kept BEFORE DELETE OR TRUNCATE ON dperm.meter FOR EACH STATEMENT EXECUTE FUNCTION dperm.refuse('what is spent is never given back');
