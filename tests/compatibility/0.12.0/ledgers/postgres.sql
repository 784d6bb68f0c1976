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
        IF EXISTS (
            SELECT 1 FROM dperm.entry
            WHERE account = NEW.account AND about = NEW.about AND kind IN ('commit', 'burn')
        ) THEN
            RAISE EXCEPTION 'nothing follows a closing' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF NEW.kind NOT IN ('reserve', 'lease', 'commit', 'burn')
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
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (1, 'pure', 1, 'open', NULL, NULL, '{}', '{"dataset": "made up pure", "unit": "one person", "limit": {"kind": "PureDP", "epsilon": 4.0, "adjacency": "replace_one"}, "blocks": null, "composition": "basic", "parents": [], "approval": false, "fingerprints": [], "exponent": 54, "meters": {"epsilon": [72057594037927936, 0]}}', '2026-11-19T04:32:53.074+00:00', '0000000000000000000000000000000000000000000000000000000000000000', 'b53169d1ce4fb9d2cd8da6e1643c79898348dcaa7c0ec2ad2755ed576d8970d1');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (2, 'pure', 2, 'reserve', 'first', NULL, '{"epsilon": 900719925474100}', '{"event": {"dperm_event": 1, "type": "laplace", "noise_multiplier": 40.0}, "facts": {}, "token": "dd1e4e0fde1e4ea7f952c761ec642ec2", "meters": {"epsilon": [72057594037927936, 900719925474100]}}', '2026-11-19T04:32:53.079+00:00', 'b53169d1ce4fb9d2cd8da6e1643c79898348dcaa7c0ec2ad2755ed576d8970d1', 'b61c725ae88386cbaea9143777a3bb7178e795ddae61926a2f7195b213f5e1a9');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (3, 'pure', 3, 'commit', NULL, 2, '{}', '{"digest": "sha256:1", "meters": {"epsilon": [72057594037927936, 900719925474100]}}', '2026-11-19T04:32:53.081+00:00', 'b61c725ae88386cbaea9143777a3bb7178e795ddae61926a2f7195b213f5e1a9', '037e2bc33aaf1cfc1e6dfd59445edf92d8462adc56a2b11eada4c41c5f94cf2e');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (4, 'pure', 4, 'reserve', 'second', NULL, '{"epsilon": 720575940379280}', '{"event": {"dperm_event": 1, "type": "laplace", "noise_multiplier": 50.0}, "facts": {}, "token": "bb8f7bfcf945b5d8a146fbd790f8acf8", "meters": {"epsilon": [72057594037927936, 1621295865853380]}}', '2026-11-19T04:32:53.088+00:00', '037e2bc33aaf1cfc1e6dfd59445edf92d8462adc56a2b11eada4c41c5f94cf2e', '9ccaf045105e1b2ef44fbd1caed5741f1c012f9c9b02ca7e29152ec4c0ddddcc');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (5, 'pure', 5, 'burn', NULL, 4, '{}', '{"reason": "ValueError", "meters": {"epsilon": [72057594037927936, 1621295865853380]}}', '2026-11-19T04:32:53.095+00:00', '9ccaf045105e1b2ef44fbd1caed5741f1c012f9c9b02ca7e29152ec4c0ddddcc', '3a24e8228e5d2020a1b3ee6f7f135e3021728acaf2aa93aeb9386239dbbd63df');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (6, 'approximate', 1, 'open', NULL, NULL, '{}', '{"dataset": "made up approximate", "unit": "one person", "limit": {"kind": "ApproxDP", "epsilon": 4.0, "delta": 1e-05, "adjacency": "add_remove"}, "blocks": 8, "composition": "basic", "parents": [], "approval": false, "fingerprints": [], "exponent": 54, "meters": {"epsilon": [72057594037927936, 0], "delta": [8, 0]}}', '2026-11-19T04:32:53.103+00:00', '0000000000000000000000000000000000000000000000000000000000000000', 'deb24f9d3a48b331d7e47876a1d45d922824427595ab1d227ed7136299b06bd7');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (7, 'approximate', 2, 'reserve', 'first', NULL, '{"epsilon": 1598885979464063, "delta": 1}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 40.0}, "facts": {}, "token": "8b8c28f3dc7abe37cfa8c3d218bcc734", "meters": {"epsilon": [72057594037927936, 1598885979464063], "delta": [8, 1]}}', '2026-11-19T04:32:53.112+00:00', 'deb24f9d3a48b331d7e47876a1d45d922824427595ab1d227ed7136299b06bd7', '34f6cadb109e67dc9dd76075429d41e95445c7dcd7c27e69a10558fdb8bc03c2');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (8, 'approximate', 3, 'commit', NULL, 2, '{}', '{"digest": "sha256:1", "meters": {"epsilon": [72057594037927936, 1598885979464063], "delta": [8, 1]}}', '2026-11-19T04:32:53.119+00:00', '34f6cadb109e67dc9dd76075429d41e95445c7dcd7c27e69a10558fdb8bc03c2', '7b9d0a03f28c16983a8cfdc19e963dffa46f74ed95a60dc5fbc49b56166d11ab');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (9, 'approximate', 4, 'reserve', 'second', NULL, '{"epsilon": 1258144105124971, "delta": 1}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 50.0}, "facts": {}, "token": "03059e3709dc65b09619e30ee939f8e1", "meters": {"epsilon": [72057594037927936, 2857030084589034], "delta": [8, 2]}}', '2026-11-19T04:32:53.124+00:00', '7b9d0a03f28c16983a8cfdc19e963dffa46f74ed95a60dc5fbc49b56166d11ab', 'cff1af969ee10dd449df988657908d9104db1973f1ed546a79db281642a3bc69');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (10, 'approximate', 5, 'burn', NULL, 4, '{}', '{"reason": "ValueError", "meters": {"epsilon": [72057594037927936, 2857030084589034], "delta": [8, 2]}}', '2026-11-19T04:32:53.135+00:00', 'cff1af969ee10dd449df988657908d9104db1973f1ed546a79db281642a3bc69', 'ab614eff8aea8f6c45bad96bf0ad22a6be67e18a179431442f5905611823e912');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (11, 'advanced', 1, 'open', NULL, NULL, '{}', '{"dataset": "made up advanced", "unit": "one person", "limit": {"kind": "ApproxDP", "epsilon": 4.0, "delta": 1e-05, "adjacency": "replace_one"}, "blocks": 8, "composition": "advanced", "parents": [], "approval": false, "fingerprints": [], "exponent": 57, "meters": {"epsilon_squared": [101479787878557872, 0], "delta": [8, 0]}}', '2026-11-19T04:32:53.141+00:00', '0000000000000000000000000000000000000000000000000000000000000000', 'adce5f04f1fa07f8704f3907cf8923aa251ff6a0b0eae0afe82a253068e9352e');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (12, 'advanced', 2, 'reserve', 'first', NULL, '{"epsilon_squared": 360287970189640, "delta": 1}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 40.0}, "facts": {}, "token": "893f33467e019ce465be682512471778", "meters": {"epsilon_squared": [101479787878557872, 360287970189640], "delta": [8, 1]}}', '2026-11-19T04:32:53.145+00:00', 'adce5f04f1fa07f8704f3907cf8923aa251ff6a0b0eae0afe82a253068e9352e', '73eb4930df6c1189b9cea9c84a80b563d4e2aed9386c5aa6a58195ab991aa412');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (13, 'advanced', 3, 'commit', NULL, 2, '{}', '{"digest": "sha256:1", "meters": {"epsilon_squared": [101479787878557872, 360287970189640], "delta": [8, 1]}}', '2026-11-19T04:32:53.147+00:00', '73eb4930df6c1189b9cea9c84a80b563d4e2aed9386c5aa6a58195ab991aa412', 'dd17c82f82470e647f6a44c0b7d4264aadc92df4e57a8d4bfc4d01c6d5d993ae');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (14, 'advanced', 4, 'reserve', 'second', NULL, '{"epsilon_squared": 230584300921370, "delta": 1}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 50.0}, "facts": {}, "token": "70cf3116c10e8d888f015124f4ec476f", "meters": {"epsilon_squared": [101479787878557872, 590872271111010], "delta": [8, 2]}}', '2026-11-19T04:32:53.156+00:00', 'dd17c82f82470e647f6a44c0b7d4264aadc92df4e57a8d4bfc4d01c6d5d993ae', '3c823876ca8f9fc66d6514a9e06712d34f8b1fbcabe218f03cc4ead53a8e24f2');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (15, 'advanced', 5, 'burn', NULL, 4, '{}', '{"reason": "ValueError", "meters": {"epsilon_squared": [101479787878557872, 590872271111010], "delta": [8, 2]}}', '2026-11-19T04:32:53.167+00:00', '3c823876ca8f9fc66d6514a9e06712d34f8b1fbcabe218f03cc4ead53a8e24f2', '3bc652c26755a52f0375cc12f51d7838cacfebe52498fa9ccd617b10e3d8527a');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (16, 'zcdp', 1, 'open', NULL, NULL, '{}', '{"dataset": "made up zcdp", "unit": "one person", "limit": {"kind": "ZCDP", "rho": 0.5, "adjacency": "add_remove"}, "blocks": null, "composition": "basic", "parents": [], "approval": false, "fingerprints": [], "exponent": 57, "meters": {"rho": [72057594037927936, 0]}}', '2026-11-19T04:32:53.173+00:00', '0000000000000000000000000000000000000000000000000000000000000000', 'b8daaf48c1f0bf606c92218f18a69f0e17d24c2a5b7ef9de8e5e765f3f16b0e7');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (17, 'zcdp', 2, 'reserve', 'first', NULL, '{"rho": 45035996273705}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 40.0}, "facts": {}, "token": "dcc5577e765dcdf4a0ea3f82748b82e0", "meters": {"rho": [72057594037927936, 45035996273705]}}', '2026-11-19T04:32:53.184+00:00', 'b8daaf48c1f0bf606c92218f18a69f0e17d24c2a5b7ef9de8e5e765f3f16b0e7', 'a89b1a8f72baeed37c88a4f23dba073bd6fbb5834dc41f2103c81b0eefb17e2c');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (18, 'zcdp', 3, 'commit', NULL, 2, '{}', '{"digest": "sha256:1", "meters": {"rho": [72057594037927936, 45035996273705]}}', '2026-11-19T04:32:53.191+00:00', 'a89b1a8f72baeed37c88a4f23dba073bd6fbb5834dc41f2103c81b0eefb17e2c', '29197419da8c85b3b0fb964652337d57d99bec6cb6e2cdef10d0f76350e2d574');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (19, 'zcdp', 4, 'reserve', 'second', NULL, '{"rho": 28823037615172}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 50.0}, "facts": {}, "token": "43557978a3a01c4b7838af8bde90a36b", "meters": {"rho": [72057594037927936, 73859033888877]}}', '2026-11-19T04:32:53.196+00:00', '29197419da8c85b3b0fb964652337d57d99bec6cb6e2cdef10d0f76350e2d574', '0d2761c1289795cdf1e1ed95d9fe9187ee635899f3782693def699003f855a72');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (20, 'zcdp', 5, 'burn', NULL, 4, '{}', '{"reason": "ValueError", "meters": {"rho": [72057594037927936, 73859033888877]}}', '2026-11-19T04:32:53.206+00:00', '0d2761c1289795cdf1e1ed95d9fe9187ee635899f3782693def699003f855a72', '20df640cd37daa72e920350243948562b27e3c3715b73030dc3987235bf0c85b');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (21, 'gdp', 1, 'open', NULL, NULL, '{}', '{"dataset": "made up gdp", "unit": "one person", "limit": {"kind": "GDP", "mu": 2.0, "adjacency": "add_remove"}, "blocks": null, "composition": "basic", "parents": [], "approval": false, "fingerprints": [], "exponent": 54, "meters": {"mu_squared": [72057594037927936, 0]}}', '2026-11-19T04:32:53.219+00:00', '0000000000000000000000000000000000000000000000000000000000000000', '499f66cd4e745123c789748d5a251e25f9f43e31d1b61d607786bb17a6fa79a7');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (22, 'gdp', 2, 'reserve', 'first', NULL, '{"mu_squared": 11258999068427}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 40.0}, "facts": {}, "token": "2f4a509db462eb54e85dc0479afc822c", "meters": {"mu_squared": [72057594037927936, 11258999068427]}}', '2026-11-19T04:32:53.224+00:00', '499f66cd4e745123c789748d5a251e25f9f43e31d1b61d607786bb17a6fa79a7', '5f638c282be58b44402b6c821aef126b430b859e41e085bcd1e78c9ab556e9d9');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (23, 'gdp', 3, 'commit', NULL, 2, '{}', '{"digest": "sha256:1", "meters": {"mu_squared": [72057594037927936, 11258999068427]}}', '2026-11-19T04:32:53.235+00:00', '5f638c282be58b44402b6c821aef126b430b859e41e085bcd1e78c9ab556e9d9', '9c43c3ad79adf2f14d93e9a44570ee0cac3bbdaf1e41e64c9269d8730af30359');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (24, 'gdp', 4, 'reserve', 'second', NULL, '{"mu_squared": 7205759403793}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 50.0}, "facts": {}, "token": "99c4b41bbd1cb881ad4d230f0cd88fba", "meters": {"mu_squared": [72057594037927936, 18464758472220]}}', '2026-11-19T04:32:53.242+00:00', '9c43c3ad79adf2f14d93e9a44570ee0cac3bbdaf1e41e64c9269d8730af30359', '94f6a844a3d969c11a8670d28bbef4a50776fd2e532646f65961396273244362');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (25, 'gdp', 5, 'burn', NULL, 4, '{}', '{"reason": "ValueError", "meters": {"mu_squared": [72057594037927936, 18464758472220]}}', '2026-11-19T04:32:53.246+00:00', '94f6a844a3d969c11a8670d28bbef4a50776fd2e532646f65961396273244362', '5438cf0585c559e63fcd58ef5ef1c3cdb4fc06f6d2f46774f093a19255612232');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (26, 'rdp', 1, 'open', NULL, NULL, '{}', '{"dataset": "made up rdp", "unit": "one person", "limit": {"kind": "RDP", "curve": [[8.0, 3.0]], "adjacency": "add_remove"}, "blocks": null, "composition": "basic", "parents": [], "approval": false, "fingerprints": [], "exponent": 55, "meters": {"tau(8.0)": [108086391056891904, 0]}}', '2026-11-19T04:32:53.258+00:00', '0000000000000000000000000000000000000000000000000000000000000000', 'd15e0e78edce4d138c03f72bfc345d87124a75639b6a98b8bed09851187a0b92');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (27, 'rdp', 2, 'reserve', 'first', NULL, '{"tau(8.0)": 90071992547410}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 40.0}, "facts": {}, "token": "5fc1305b6bf2393ac74aca5bf6911299", "meters": {"tau(8.0)": [108086391056891904, 90071992547410]}}', '2026-11-19T04:32:53.264+00:00', 'd15e0e78edce4d138c03f72bfc345d87124a75639b6a98b8bed09851187a0b92', '318c3192a0dc859bc8ff1170bdf07432cad3f64cd7d0fa75f1771e507e98daa9');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (28, 'rdp', 3, 'commit', NULL, 2, '{}', '{"digest": "sha256:1", "meters": {"tau(8.0)": [108086391056891904, 90071992547410]}}', '2026-11-19T04:32:53.271+00:00', '318c3192a0dc859bc8ff1170bdf07432cad3f64cd7d0fa75f1771e507e98daa9', '97c6d795f64c2616fd14522da0c886ea3cd7dc9013b0ad23b0df425545078bfb');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (29, 'rdp', 4, 'reserve', 'second', NULL, '{"tau(8.0)": 57646075230343}', '{"event": {"dperm_event": 1, "type": "gaussian", "noise_multiplier": 50.0}, "facts": {}, "token": "c6263d68e3382589caaded5fa675f7b1", "meters": {"tau(8.0)": [108086391056891904, 147718067777753]}}', '2026-11-19T04:32:53.278+00:00', '97c6d795f64c2616fd14522da0c886ea3cd7dc9013b0ad23b0df425545078bfb', '0c96621231d9b0c7df919274fc5dc68fe9665163a915cac67d537fcac7676b62');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (30, 'rdp', 5, 'burn', NULL, 4, '{}', '{"reason": "ValueError", "meters": {"tau(8.0)": [108086391056891904, 147718067777753]}}', '2026-11-19T04:32:53.282+00:00', '0c96621231d9b0c7df919274fc5dc68fe9665163a915cac67d537fcac7676b62', '20ea7fc221bdddb9f530e16f7cd1b31020a202ea3f7a11a6cf9494649b37d8bb');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (31, 'child', 1, 'open', NULL, NULL, '{}', '{"dataset": "part", "unit": "one person", "limit": {"kind": "PureDP", "epsilon": 1.0, "adjacency": "replace_one"}, "blocks": null, "composition": "basic", "parents": ["pure"], "approval": false, "fingerprints": [], "exponent": 56, "meters": {"epsilon": [72057594037927936, 0]}}', '2026-11-19T04:32:53.295+00:00', '0000000000000000000000000000000000000000000000000000000000000000', '1fb605795a7f40e14e508ed7ed1954b90ea7811d55b085cbfdecce9ab9f9fd7c');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (32, 'child', 2, 'reserve', 'third', NULL, '{"epsilon": 4803839602528530}', '{"event": {"dperm_event": 1, "type": "laplace", "noise_multiplier": 30.0}, "facts": {"seeded": true}, "token": "a3af61c0b35bca57a7234be58bac4d54", "meters": {"epsilon": [72057594037927936, 4803839602528530]}}', '2026-11-19T04:32:53.303+00:00', '1fb605795a7f40e14e508ed7ed1954b90ea7811d55b085cbfdecce9ab9f9fd7c', '4ae337d453e24d26807a79c53d889b517cf5f565c0f3e6508a38d07adb0d7dec');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (33, 'pure', 6, 'reserve', 'child/third', NULL, '{"epsilon": 1200959900632133}', '{"event": {"dperm_event": 1, "type": "laplace", "noise_multiplier": 30.0}, "facts": {"seeded": true}, "token": "a3af61c0b35bca57a7234be58bac4d54", "meters": {"epsilon": [72057594037927936, 2822255766485513]}}', '2026-11-19T04:32:53.314+00:00', '3a24e8228e5d2020a1b3ee6f7f135e3021728acaf2aa93aeb9386239dbbd63df', 'c17c982a349862f9c9302b315c5bbc67fa75da8cb0a68f619a7814cd43d3d8cd');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (34, 'child', 3, 'commit', NULL, 2, '{}', '{"digest": "sha256:3", "meters": {"epsilon": [72057594037927936, 4803839602528530]}}', '2026-11-19T04:32:53.319+00:00', '4ae337d453e24d26807a79c53d889b517cf5f565c0f3e6508a38d07adb0d7dec', '17ebfa7a787980b4d11c9b2b9163b5c81f737a24e983af2bf8901388406ff975');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (35, 'pure', 7, 'commit', NULL, 6, '{}', '{"digest": "sha256:3", "meters": {"epsilon": [72057594037927936, 2822255766485513]}}', '2026-11-19T04:32:53.320+00:00', 'c17c982a349862f9c9302b315c5bbc67fa75da8cb0a68f619a7814cd43d3d8cd', '5e4885e8b44530f9420db376217b1d5625778ca0f68cdb4b2d1e6772291b3efa');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (36, 'pure', 8, 'limit', NULL, NULL, '{}', '{"limit": {"kind": "PureDP", "epsilon": 5.0, "adjacency": "replace_one"}, "promise": {"kind": "PureDP", "epsilon": 5.0, "adjacency": "replace_one"}, "reason": "one more year", "by": "officer", "meters": {"epsilon": [90071992547409920, 2822255766485513]}}', '2026-11-19T04:32:53.326+00:00', '5e4885e8b44530f9420db376217b1d5625778ca0f68cdb4b2d1e6772291b3efa', '7bedce6a66a4f2e8045ed8b7f4bdcb4a584ab61bcfbe9d77f46dd27aebab76a9');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (37, 'strict', 1, 'open', NULL, NULL, '{}', '{"dataset": "strict", "unit": "one person", "limit": {"kind": "PureDP", "epsilon": 1.0, "adjacency": "replace_one"}, "blocks": null, "composition": "basic", "parents": [], "approval": true, "fingerprints": [], "exponent": 56, "meters": {"epsilon": [72057594037927936, 0]}}', '2026-11-19T04:32:53.344+00:00', '0000000000000000000000000000000000000000000000000000000000000000', '03dbe630896053a941e72f807dbf5e5b471a99853f1e926ab3307c416c0ecc14');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (38, 'strict', 2, 'approve', 'asked', NULL, '{}', '{"reason": "reviewed", "by": "officer", "event": {"dperm_event": 1, "type": "laplace", "noise_multiplier": 20.0}, "meters": {"epsilon": [72057594037927936, 0]}}', '2026-11-19T04:32:53.351+00:00', '03dbe630896053a941e72f807dbf5e5b471a99853f1e926ab3307c416c0ecc14', 'bd410c7d59203b732ce4ebdc731b74cace1d47af9f77360e91782c742cd9bb29');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (39, 'strict', 3, 'reserve', 'asked', NULL, '{"epsilon": 7205759403792794}', '{"event": {"dperm_event": 1, "type": "laplace", "noise_multiplier": 20.0}, "facts": {}, "token": "299c112df3518ec068584592978b067d", "meters": {"epsilon": [72057594037927936, 7205759403792794]}}', '2026-11-19T04:32:53.356+00:00', 'bd410c7d59203b732ce4ebdc731b74cace1d47af9f77360e91782c742cd9bb29', 'd17ae283ed8be58ef8b579670ec085183f018bb1304711616836b51b579b2633');
INSERT INTO dperm.entry OVERRIDING SYSTEM VALUE VALUES (40, 'strict', 4, 'approve', 'later', NULL, '{}', '{"reason": "reviewed", "by": "officer", "event": null, "meters": {"epsilon": [72057594037927936, 7205759403792794]}}', '2026-11-19T04:32:53.368+00:00', 'd17ae283ed8be58ef8b579670ec085183f018bb1304711616836b51b579b2633', 'b7870bc0a0467cafd3e1b5efa660930507fb1521640b0ef6bfa36314391508d9');
INSERT INTO dperm.ledger VALUES (2, 'fcfa9b01ac51a5fefc6b9fb9367c8a44ac3855cef4b40e842accf8350eae0ee0', '11c160bd25a5005e934733385707bb7dd6e3e50893415577ed1d8553ccbbb638', '035c8c1d48f9615a1fbb0f4df2eef701c82fb2abe5a0a685f78afe112e29286c');
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
CREATE INDEX leases ON dperm.entry USING btree (account, about, seq) WHERE (kind = 'lease'::text);
CREATE UNIQUE INDEX one_closing ON dperm.entry USING btree (account, about) WHERE (kind = ANY (ARRAY['commit'::text, 'burn'::text]));
CREATE UNIQUE INDEX one_ledger ON dperm.ledger USING btree ((true));
CREATE UNIQUE INDEX one_request ON dperm.entry USING btree (account, kind, request_id) WHERE (request_id IS NOT NULL);
CREATE INDEX openings ON dperm.entry USING btree (number) WHERE (kind = 'open'::text);
CREATE INDEX seeded ON dperm.entry USING btree (account) WHERE (strpos(body, '"seeded": true'::text) > 0);
CREATE TRIGGER entry_admitted BEFORE INSERT ON dperm.entry FOR EACH ROW EXECUTE FUNCTION dperm.admit_entry();
CREATE TRIGGER entry_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON dperm.entry FOR EACH STATEMENT EXECUTE FUNCTION dperm.refuse('the books are append-only');
CREATE TRIGGER ledger_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON dperm.ledger FOR EACH STATEMENT EXECUTE FUNCTION dperm.refuse('a ledger keeps its keys');
CREATE TRIGGER meter_forward BEFORE UPDATE ON dperm.meter FOR EACH ROW WHEN (((new.spent < old.spent) OR (new.account <> old.account) OR (new.name <> old.name))) EXECUTE FUNCTION dperm.refuse('what is spent is never given back');
CREATE TRIGGER meter_kept BEFORE DELETE OR TRUNCATE ON dperm.meter FOR EACH STATEMENT EXECUTE FUNCTION dperm.refuse('what is spent is never given back');
