//! `add`, `get`, `list`, `remove`, `enable`, `disable`.

use serde_json::json;

use crate::stage::{OURS, Stage};

const FILES: &str = r#"{
  "servers": {
    "files": {
      "command": "npx",
      "args": ["-y", "server-files", "/tmp"],
      "env": {
        "HERE": "${HERE}",
        "LEVEL": "2"
      },
      "cwd": "/srv"
    }
  }
}
"#;

#[test]
fn a_command_is_added_shown_switched_and_removed() {
    let stage = Stage::new();
    let words = [
        "add",
        "files",
        "-e",
        "HERE",
        "--env",
        "LEVEL=2",
        "--cwd",
        "/srv",
        "--",
        "npx",
        "-y",
        "server-files",
        "/tmp",
    ];
    let added = stage.run(&words).well();
    assert_eq!(added.out, "added files in ~/.config/contexture/contexture.json\n");
    assert!(added.err.contains("the variable HERE is not set now"), "{added:?}");
    assert_eq!(stage.read(OURS), FILES);

    let here = [("HERE", "x")];
    let list = stage.run_with(&["list"], &here, "").well();
    let row = "files  enabled  stdio      npx -y server-files /tmp  contexture (~/.config/contexture/contexture.json)";
    assert_eq!(list.out.lines().nth(1), Some(row), "{list:?}");
    let broken = stage.run(&["list", "-o", "json"]).well();
    assert_eq!(broken.json()[0]["state"], "broken");
    assert!(broken.err.contains("contexture.json:7: server \"files\": \"HERE\""), "{broken:?}");

    let get = stage.run_with(&["get", "files"], &here, "").well();
    for line in
        ["state      enabled", "args       -y server-files /tmp", "env.LEVEL  •••", "env.HERE   ${HERE}"]
    {
        assert!(get.out.lines().any(|one| one == line), "{line}: {get:?}");
    }
    let get = stage.run_with(&["get", "files", "-o", "json"], &here, "").well().json();
    assert_eq!((&get["line"], &get["entry"]["env"]["LEVEL"]), (&json!(3), &json!("•••")));

    let off = stage.run(&["disable", "files"]).well();
    assert!(off.out.starts_with("disabled files in "), "{off:?}");
    assert_eq!(stage.read(OURS), FILES.replace("\"/srv\"", "\"/srv\",\n      \"enabled\": false"));
    assert_eq!(stage.read(&format!("{OURS}.contexture-backup")), FILES);
    assert_eq!(stage.run_with(&["list", "-o", "json"], &here, "").well().json()[0]["state"], "disabled");
    let refused = stage.run_with(&["tools", "list", "files"], &here, "");
    refused.refused(&["disabled"]);
    stage.run(&["enable", "files"]).well();
    assert_eq!(
        stage.run(&["enable", "files"]).well().out,
        "nothing to change in ~/.config/contexture/contexture.json\n"
    );

    let removed = stage.run(&["remove", "files", "-o", "json"]).well().json();
    assert_eq!((&removed["removed"], &removed["changed"]), (&json!(["files"]), &json!(true)));
    assert_eq!(stage.read(OURS), "{\n  \"servers\": {}\n}\n");
    stage.run(&["remove", "files"]).refused(&["there is no server \"files\""]);
    stage.is_tidy();
}

#[test]
fn a_url_is_added_with_its_headers_and_used() {
    let stage = Stage::new();
    stage.run(&["add", "web", "https://web.example/mcp", "-t", "sse", "-H", "X-Key: ${KEY}"]).well();
    let get = stage.run_with(&["get", "web", "-o", "json"], &[("KEY", "k")], "").well().json();
    assert_eq!(
        get["entry"],
        json!({ "type": "sse", "url": "https://web.example/mcp", "headers": { "X-Key": "${KEY}" } })
    );
    assert_eq!((&get["transport"], &get["state"]), (&json!("sse"), &json!("enabled")));
}

/// What was added is a target of every other verb.
#[test]
fn what_is_added_can_be_called() {
    let stage = Stage::new();
    stage.run(&["add", "mine", "--", env!("CARGO_BIN_EXE_contexture"), "demo"]).well();
    let called = stage.run(&["call", "mine", "echo", "message=hi", "-o", "json"]).well();
    assert_eq!(called.json()["content"][0]["text"], "hi");
}

#[test]
fn a_secret_is_kept_elsewhere_and_the_server_gets_it() {
    let stage = Stage::new();
    let words = [
        "add",
        "safe",
        "--secret",
        "TOKEN",
        "--",
        "sh",
        "-c",
        "test \"$TOKEN\" = s3cret && exec \"$0\" demo",
    ];
    let words: Vec<&str> = words.into_iter().chain([env!("CARGO_BIN_EXE_contexture")]).collect();
    let added = stage.run_with(&words, &[], "s3cret\n").well();
    let text = stage.read(OURS);
    assert!(text.contains("\"TOKEN\": \"${keyring:safe/TOKEN}\""), "{text}");
    stage.run(&["call", "safe", "echo", "message=hi"]).well();
    let get = stage.run(&["get", "safe"]).well();
    assert!(
        ![&text, &added.out, &added.err, &get.out]
            .iter()
            .any(|seen| seen.contains("s3cret\"") || seen.contains("s3cret\n"))
    );
    let secrets = stage.path("home/.local/share/contexture/secrets");
    let count = || {
        std::fs::read_dir(&secrets)
            .expect("it is there")
            .flatten()
            .filter(|file| file.path().extension().is_some_and(|end| end == "secret"))
            .count()
    };
    assert_eq!(count(), 1);
    stage.run(&["remove", "safe"]).well();
    assert_eq!(count(), 0, "nobody refers to it any more");

    // A secret of one is not forgotten with another that refers to it.
    stage.run_with(&["add", "one", "--secret", "TOKEN", "--", "true"], &[], "s3cret\n").well();
    stage.run(&["add", "two", "-e", "TOKEN=${keyring:one/TOKEN}", "--", "true"]).well();
    stage.run(&["remove", "two"]).well();
    assert_eq!(count(), 1, "it belongs to another");
    stage.run(&["remove", "one"]).well();
    assert_eq!(count(), 0);

    stage
        .run(&["add", "web", "https://web.example/mcp", "--secret", "Authorization"])
        .refused(&["was not given"]);
    assert!(!stage.read(OURS).contains("web"), "nothing was changed");
    stage
        .run_with(&["add", "web", "https://web.example/mcp", "--secret", "Authorization"], &[], "t0ken")
        .well();
    assert!(stage.read(OURS).contains("\"Authorization\": \"Bearer ${keyring:web/Authorization}\""));
}

#[test]
fn secrets_that_are_written_out_draw_a_word() {
    let stage = Stage::new();
    let words = ["add", "a", "-e", "API_TOKEN=abc", "--", "server", "--password", "hunter2"];
    let added = stage.run(&words).well();
    for word in [
        "API_TOKEN looks like a secret",
        "`-e API_TOKEN`",
        "`--secret API_TOKEN`",
        "an argument looks like a secret",
    ] {
        assert!(added.err.contains(word), "{word}: {added:?}");
    }
    let added = stage
        .run(&["add", "b", "https://b.example/mcp", "-H", "Authorization: Bearer abc", "-o", "json"])
        .well();
    assert!(
        added.json()["notes"][0]["what"].as_str().is_some_and(|what| what.contains("--secret Authorization")),
        "{added:?}"
    );
    let seen = [
        stage.run(&["list"]),
        stage.run(&["get", "a"]),
        stage.run(&["get", "b"]),
        stage.run(&["remove", "a", "--dry-run"]),
    ];
    for ended in seen {
        let all = format!("{}{}", ended.out, ended.err);
        assert!(!all.contains("hunter2") && !all.contains("abc"), "{all}");
        assert!(all.contains("•••") || all.contains("b.example"), "{all}");
    }
}

#[test]
fn what_is_there_is_replaced_only_by_force() {
    let stage = Stage::new();
    stage.write(OURS, "{\n  // mine\n  \"servers\": {\n    \"a\": { \"command\": \"old\", \"args\": [\"x\"], \"prefix\": false }, // a\n  },\n}\n");
    let before = stage.read(OURS);
    stage
        .run(&["add", "a", "--", "new"])
        .refused(&["contexture.json:4: there is a server \"a\" already", "--force"]);
    assert_eq!(stage.read(OURS), before);
    let dry = stage.run(&["add", "a", "--force", "--dry-run", "--", "new"]).well();
    assert!(
        dry.out.contains("\n-    \"a\": { \"command\": \"old\"")
            && dry.out.contains("\n+    \"a\": { \"command\": \"new\", \"prefix\": false }, // a"),
        "{dry:?}"
    );
    assert_eq!(stage.read(OURS), before);
    stage.run(&["add", "a", "--force", "--", "new"]).well();
    assert_eq!(stage.read(OURS), before.replace("\"old\", \"args\": [\"x\"],", "\"new\","));
}

/// Who adds a server to a project has agreed to it; what else is in the file still waits.
#[test]
fn a_project_has_its_own_file() {
    let stage = Stage::new();
    stage.write("project/contexture.json", "{ \"servers\": { \"theirs\": { \"command\": \"x\" } } }");
    stage.run(&["add", "mine", "--project", "--", "y"]).well();
    let list = stage.run(&["list", "-o", "json"]).well().json();
    let states: Vec<(&str, &str)> = list
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| (row["name"].as_str().unwrap_or_default(), row["state"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(states, [("theirs", "held"), ("mine", "enabled")]);
    stage.run(&["add", "mine", "--", "other"]).well();
    stage.run(&["remove", "mine", "--project"]).well();
    assert!(stage.read(OURS).contains("other"));
    assert!(!stage.read("project/contexture.json").contains("mine"));
}

#[test]
fn command_lines_that_mean_nothing_are_refused() {
    let stage = Stage::new();
    let cases: &[(&[&str], &str)] = &[
        (&["add", "a"], "contexture add a URL"),
        (&["add", "a", "npx"], "a command comes after `--`: contexture add a -- npx"),
        (&["add", "a", "https://a.example/mcp", "--", "x"], "not both"),
        (&["add", "a", "-t", "stdio", "https://a.example/mcp"], "http or sse"),
        (&["add", "a", "-t", "http", "--", "x"], "stdio"),
        (&["add", "a", "-e", "A=1", "https://a.example/mcp"], "not for URLs"),
        (&["add", "a", "-H", "A: 1", "--", "x"], "for URLs"),
        (&["add", "cursor:a", "--", "x"], "cannot be the name"),
        (&["add", "", "--", "x"], "cannot be the name"),
        (&["add", "a", "--", ""], "empty"),
        (&["add", "a", "http://"], "no URL"),
        (&["add", "a", "https://me:pw@a.example/mcp"], "a user or a password"),
        (&["add", "a", "-H", "bad name: x", "https://a.example/mcp"], "HTTP does not allow"),
        (&["add", "a", "-e", "=x", "--", "x"], "cannot be the name of a variable"),
        (&["add", "a", "-e", "A=${!}", "--", "x"], "is no variable"),
        (&["get", "nothing"], "there is no server \"nothing\""),
        (&["enable", "nothing"], "there is no server \"nothing\""),
        (&["export", "--to", "claude"], "claude-desktop or claude-code"),
        (&["export", "--to", "windsurf", "--project"], "no file in projects"),
        (&["export", "--to", "cursor"], "no server to export"),
        (&["import", "nothing"], "nothing to import as \"nothing\""),
    ];
    for (words, what) in cases {
        let ended = stage.run(words);
        assert!(ended.out.is_empty(), "{words:?}: {ended:?}");
        ended.refused(&[what]);
        assert!(!stage.path(OURS).exists(), "{words:?}");
    }
    let wrong = stage.run(&["get", "nothing", "-o", "json"]);
    let error: serde_json::Value = serde_json::from_str(&wrong.err).expect("one line of JSON");
    assert_eq!((&error["error"]["exit"], wrong.code), (&json!(1), Some(1)));
}
