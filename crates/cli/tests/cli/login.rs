//! Logging in and out, and what the other verbs make of it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use crate::guarded::{Guarded, Habits, SECRET, visit};
use crate::people::{Person, come_back, ended, files};
use crate::{BINARY, command};

// covers: AUTH-TOKEN-STORAGE, AUTH-CLIENT-DCR, AUTH-STATE-USE
#[test]
fn after_a_login_every_verb_is_let_in_until_the_logout() {
    let (server, person) = (Guarded::new(), Person::new());
    let login = person.log_in(&server);
    assert_eq!(login.code, Some(0), "{}", login.stderr);
    assert!(login.stdout.starts_with(&format!("logged in to {}", server.url())), "{}", login.stdout);
    assert!(
        login.stderr.contains("in your browser") && login.stderr.contains("/authorize?"),
        "{}",
        login.stderr
    );
    assert_eq!(server.log(), ["register", "authorize the-client for use", "token authorization_code"]);
    for _ in 0..2 {
        let echoed = person.on(&server, &["call", "echo", "message=hi"]);
        assert_eq!((echoed.code, echoed.stdout.as_str()), (Some(0), "hi\n"), "{}", echoed.stderr);
    }
    assert!(server.log().is_empty() && !person.was_sent(), "nobody is asked again");
    for file in files(&person.data()) {
        let mode = std::fs::metadata(&file).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file:?}");
        let text = String::from_utf8_lossy(&std::fs::read(&file).expect("it is ours")).into_owned();
        assert!(!text.contains(SECRET), "{file:?}");
    }

    let logout = person.run(&["logout", &server.url()]);
    assert_eq!(logout.stdout, format!("logged out of {}\n", server.url()), "{}", logout.stderr);
    let refused = person.on(&server, &["call", "echo", "message=hi"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    let again = person.run(&["logout", &server.url(), "-o", "json"]);
    assert_eq!((again.code, &again.json()["loggedOut"]), (Some(0), &false.into()), "{}", again.stderr);
}

#[test]
fn what_is_known_is_told_without_a_token() {
    let (server, person) = (Guarded::new(), Person::new());
    let url = server.url();
    let nobody = person.run(&["auth", &url, "-o", "json"]);
    assert_eq!((nobody.code, &nobody.json()["login"]), (Some(3), &serde_json::Value::Null));
    let hint = format!("contexture login {url}");
    assert_eq!(
        (&nobody.json()["next"], &nobody.error()["hint"]),
        (&hint.as_str().into(), &hint.as_str().into())
    );
    assert!(files(&person.data()).is_empty() && server.log().is_empty(), "to ask changes nothing");

    person.log_in(&server);
    let known = person.run(&["auth", &url, "-o", "json"]);
    assert_eq!(known.code, Some(0), "{}", known.stderr);
    let login = &known.json()["login"];
    assert_eq!(login["issuer"], server.origin.as_str());
    assert_eq!(login["resource"], url.as_str());
    assert_eq!(login["clientId"], "the-client");
    assert_eq!(login["scopes"], serde_json::json!(["use"]));
    assert_eq!((&login["expired"], &login["refreshable"]), (&false.into(), &true.into()));
    assert!(login["expiresAt"].is_u64() && known.json().get("next").is_none(), "{}", known.stdout);
    let text = person.run(&["auth", &url]).stdout;
    for words in [&server.origin, "scopes    use", "minutes, then refreshed"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// The address is shown, no browser is opened, and the way back can be brought by hand.
#[test]
fn a_headless_login_shows_the_address_and_takes_a_pasted_way_back() {
    let (server, person) = (Guarded::new(), Person::new());
    let mut login = person.command(&["login", &server.url(), "--headless"]);
    let mut login = login.stdin(Stdio::piped()).spawn().expect("the binary runs");
    let mut stderr = BufReader::new(login.stderr.take().expect("a pipe"));
    let address = loop {
        let mut line = String::new();
        assert!(stderr.read_line(&mut line).expect("text") > 0, "it ended");
        if line.trim().starts_with("http") {
            break line.trim().to_owned();
        }
    };
    let (_, back) = visit(&address);
    let back = back.expect("the way back");
    let mut stdin = login.stdin.take().expect("a pipe");
    let another = back.replace("state=", "state=another");
    write!(stdin, "hello\n\n{another}\n{back}\n").expect("it reads");
    let done = ended(login);
    assert_eq!(done.code, Some(0), "{}", done.stdout);
    assert!(!person.was_sent(), "a browser was opened");
    assert_eq!(person.on(&server, &["call", "echo", "message=hi"]).stdout, "hi\n");
}

#[test]
fn a_headless_login_comes_back_by_itself_where_it_can() {
    let (server, person) = (Guarded::new(), Person::new());
    let mut login = person.command(&["login", &server.url(), "--headless"]).spawn().expect("the binary runs");
    let mut stderr = BufReader::new(login.stderr.take().expect("a pipe")).lines();
    let address = stderr.find_map(|line| line.ok().filter(|line| line.trim().starts_with("http")));
    let page = come_back(address.expect("an address").trim());
    assert!(page.contains("You can close this page"), "{page}");
    assert_eq!(ended(login).code, Some(0));
}

/// Nothing is begun that nobody can finish.
#[test]
fn where_nobody_can_be_asked_verbs_say_how_to_log_in() {
    let (server, person) = (Guarded::new(), Person::new());
    for arguments in [&["tools", "list"][..], &["call", "echo", "message=hi", "--no-input"], &["read", "a:b"]]
    {
        let text = person.on(&server, arguments);
        assert_eq!(text.code, Some(3), "{arguments:?}: {}", text.stderr);
        let hint = format!("contexture login {}", server.url());
        assert!(text.stderr.lines().any(|line| line.trim() == hint), "{arguments:?}: {}", text.stderr);
        let json = person.on(&server, &[arguments, &["-o", "json"]].concat()).error();
        assert_eq!(
            (&json["kind"], &json["hint"]),
            (&"auth_required".into(), &hint.as_str().into()),
            "{json}"
        );
    }
    assert!(server.log().is_empty(), "somebody was registered, or asked");
    assert!(!person.was_sent() && files(&person.data()).is_empty());
}

#[test]
fn who_says_themselves_who_asks_is_not_told_to_log_in() {
    let (server, person) = (Guarded::new(), Person::new());
    person.log_in(&server);
    let own = person.on(&server, &["tools", "list", "-H", "Authorization: Bearer mine"]);
    assert_eq!(own.code, Some(3), "what is stored was shown in its place");
    assert!(!own.stderr.contains("contexture login"), "{}", own.stderr);
}

/// What has expired is refreshed once, however many processes find out at the same time.
// covers: AUTH-CLIENT-401-HANDLE
#[test]
fn an_expired_token_is_refreshed_once_for_all_processes() {
    let (server, person) = (Guarded::new(), Person::new());
    server.lifetime(1);
    person.log_in(&server);
    server.log();
    server.expire();
    server.lifetime(3600);
    let url = server.url();
    let calls = [(); 4].map(|()| {
        person.command(&["call", "echo", "message=hi", "--", &url]).spawn().expect("the binary runs")
    });
    for call in calls {
        let echoed = ended(call);
        assert_eq!((echoed.code, echoed.stdout.as_str()), (Some(0), "hi\n"), "{}", echoed.stderr);
    }
    assert_eq!(server.log(), ["token refresh_token"]);
}

/// A login by itself would ask for the same scopes as before, and fail the same way.
#[test]
fn scopes_that_do_not_suffice_are_part_of_the_way_to_log_in() {
    let (server, person) = (Guarded::new(), Person::new());
    person.log_in(&server);
    server.want("$(sign)");
    let refused = person.on(&server, &["tools", "list", "-o", "json"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    let hint = format!("contexture login {} --scope='$(sign)' --scope=use", server.url());
    assert_eq!(refused.error()["hint"], hint.as_str(), "{}", refused.stderr);
    let login = person.log_in_with(&server, &["--scope=$(sign)", "--scope=use"]);
    assert_eq!(login.code, Some(0), "{}", login.stderr);
    assert_eq!(person.on(&server, &["call", "echo", "message=hi"]).stdout, "hi\n");
}

#[test]
fn a_login_that_is_no_longer_good_is_said_to_be_needed_again() {
    let (server, person) = (Guarded::new(), Person::new());
    person.log_in(&server);
    server.forget_everybody();
    let refused = person.on(&server, &["tools", "list"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("contexture login {}", server.url())), "{}", refused.stderr);
    let again = person.log_in(&server);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(person.on(&server, &["call", "echo", "message=hi"]).stdout, "hi\n");
}

// covers: AUTH-CLIENT-PREREGISTERED
#[test]
fn a_client_that_cannot_register_is_given_its_id() {
    let (server, person) = (Guarded::with(Habits { says_yes: true, registers: false }), Person::new());
    let refused = person.run(&["login", &server.url(), "-o", "json"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(
        refused.error()["hint"].as_str().is_some_and(|hint| hint.contains("--client-id")),
        "{}",
        refused.stderr
    );
    assert!(server.log().is_empty() && !person.was_sent());
    let login = person.log_in_with(&server, &["--client-id", "mine", "--scope", "more"]);
    assert_eq!(login.code, Some(0), "{}", login.stderr);
    assert_eq!(server.log(), ["authorize mine for more use", "token authorization_code"]);
    assert_eq!(person.on(&server, &["call", "echo", "message=hi"]).stdout, "hi\n");
}

/// Servers that are started take their credentials from the environment, and nobody logs in to them.
// covers: AUTH-STDIO-NO-OAUTH, AUTH-STDIO-ENV-CREDS
#[test]
fn servers_that_are_started_are_given_their_credentials_by_the_environment() {
    let person = Person::new();
    let script = "test \"$API_KEY\" = key || exit 9; exec \"$0\" demo";
    let target = ["--", "sh", "-c", script, BINARY];
    let given = person.run(&[&["call", "echo", "message=hi", "--env", "API_KEY=key"], &target[..]].concat());
    assert_eq!(given.stdout, "hi\n", "{}", given.stderr);
    let missing = person.run(&[&["call", "echo", "message=hi"], &target[..]].concat());
    assert_eq!(missing.code, Some(4), "{}", missing.stderr);
    assert!(!missing.stderr.contains("login") && !person.was_sent() && files(&person.data()).is_empty());
}

/// Rows F16 and K12 of the threats: words of the authorization server are shown, and harmless.
#[test]
fn a_person_who_says_no_is_not_logged_in() {
    let (server, person) = (Guarded::with(Habits { says_yes: false, registers: true }), Person::new());
    let refused = person.log_in(&server);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("access_denied") && !refused.stderr.contains('\u{1b}'),
        "{:?}",
        refused.stderr
    );
    assert_eq!(person.run(&["auth", &server.url()]).code, Some(3));
}

#[test]
fn a_logout_needs_no_server() {
    let (server, person) = (Guarded::new(), Person::new());
    person.log_in(&server);
    let url = server.url();
    drop(server);
    let logout = person.run(&["logout", &url]);
    assert_eq!(
        (logout.code, logout.stdout),
        (Some(0), format!("logged out of {url}\n")),
        "{}",
        logout.stderr
    );
    assert_eq!(person.run(&["auth", &url]).code, Some(3));
}

#[test]
fn servers_that_ask_nothing_leave_no_trace() {
    let person = Person::new();
    let mut demo = command(&["demo", "--listen", "127.0.0.1:0"]).spawn().expect("the binary runs");
    let mut lines = BufReader::new(demo.stderr.take().expect("standard error")).lines();
    let line = lines.next().expect("a line").expect("text");
    let url = line.strip_prefix("listening on ").expect("an address");
    let echoed = person.run(&["call", "echo", "message=hi", "--", url]);
    assert_eq!(echoed.stdout, "hi\n", "{}", echoed.stderr);
    assert!(!person.data().exists(), "{:?}", files(&person.data()));
    // A folder that cannot be had is no hindrance, either.
    std::fs::write(person.data(), b"a file").expect("it is ours");
    let echoed = person.run(&["call", "echo", "message=hi", "--", url]);
    assert_eq!((echoed.stdout.as_str(), echoed.stderr.as_str()), ("hi\n", ""));
    demo.kill().expect("it was alive");
    demo.wait().expect("it is gone");
}

#[test]
fn tokens_that_cannot_be_kept_are_said_to_be() {
    let (server, person) = (Guarded::new(), Person::new());
    std::fs::write(person.data(), b"a file").expect("it is ours");
    let login = person.log_in(&server);
    assert_eq!(login.code, Some(1), "{}", login.stderr);
    assert!(login.stderr.contains("XDG_DATA_HOME"), "{}", login.stderr);
}

/// The name in a configuration will do, and what that knows about the login is used.
#[test]
fn a_login_by_the_name_of_a_server() {
    let (server, person) = (Guarded::new(), Person::new());
    let config = person.home.join("servers.json");
    let entry = serde_json::json!({ "servers": { "guarded": { "url": server.url() } } });
    std::fs::write(&config, entry.to_string()).expect("it is ours");
    let config = config.display().to_string();
    let login = person.command(&["login", "guarded", "--config", &config]).spawn().expect("the binary runs");
    come_back(&person.sent_to());
    assert_eq!(ended(login).code, Some(0));
    let known = person.run(&["auth", &server.url(), "-o", "json"]);
    assert_eq!(known.json()["url"], server.url(), "{}", known.stderr);
    let echoed = person.run(&["call", "guarded", "echo", "message=hi", "--config", &config]);
    assert_eq!(echoed.stdout, "hi\n", "{}", echoed.stderr);
    let logout = person.run(&["logout", "guarded", "--config", &config]);
    assert!(logout.stdout.starts_with("logged out of"), "{} {}", logout.stdout, logout.stderr);
    let local = person.run(&["login", "demo"]);
    assert!(local.code == Some(1) && local.stderr.contains("nothing to log in to"), "{}", local.stderr);
}

#[test]
fn a_target_is_found_before_anything_is_asked() {
    for arguments in
        [&["login", "example.com"][..], &["logout", "./server"], &["auth", "file:///x"], &["login"]]
    {
        let json = Person::new().run(&[arguments, &["-o", "json"]].concat());
        assert_eq!((json.code, &json.error()["kind"]), (Some(1), &"usage".into()), "{arguments:?}");
    }
}

/// The keyring holds the key and nothing else, and is told it where nobody can look on.
#[test]
fn a_keyring_keeps_the_key_of_what_is_kept_in_files() {
    let script = "cd \"$(dirname \"$0\")\" && echo \"$*\" >> arguments\n\
                  case $1 in store) cat > secret;; lookup) cat secret 2> errors;; *) exit 1;; esac";
    let (server, person) = (Guarded::new(), Person::with_keyring(script));
    assert_eq!(person.log_in(&server).code, Some(0));
    let programs = person.home.join("programs");
    let read = |name: &str| std::fs::read_to_string(programs.join(name)).expect("it was written");
    assert_eq!(read("secret").len(), 43, "32 bytes in letters");
    assert!(!read("arguments").contains(&read("secret")) && !read("arguments").contains(SECRET));
    let kept = files(&person.data());
    assert!(
        kept.iter().all(|file| file.parent().is_some_and(|folder| folder.ends_with("tokens-keyring"))),
        "{kept:?}"
    );
    assert!(!kept.iter().any(|file| file.ends_with("key")), "the key is beside what it opens: {kept:?}");
    assert_eq!(person.on(&server, &["call", "echo", "message=hi"]).stdout, "hi\n");
    // Without the key nothing opens, until the next login.
    std::fs::remove_file(programs.join("secret")).expect("it is ours");
    let refused = person.on(&server, &["call", "echo", "message=hi"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("sealed with another key"), "{}", refused.stderr);
    assert_eq!(person.log_in(&server).code, Some(0));
    assert_eq!(person.on(&server, &["call", "echo", "message=hi"]).stdout, "hi\n");
}

#[test]
fn a_keyring_that_does_not_work_is_done_without() {
    for script in ["exit 1", "cat > \"$0.secret\"", "case $1 in store) exit 1;; *) echo garbage;; esac"] {
        let (server, person) = (Guarded::new(), Person::with_keyring(script));
        assert_eq!(person.log_in(&server).code, Some(0), "{script}");
        assert_eq!(person.on(&server, &["call", "echo", "message=hi"]).stdout, "hi\n", "{script}");
        assert!(person.data().join("contexture/tokens/key").exists(), "{script}");
    }
}
