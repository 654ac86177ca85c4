//! Requests in good form with bad contents: cursors, URIs, arguments, references, levels, metadata.

use serde_json::Value;

use crate::child::Demo;
use crate::stage::{META, NEWEST, STAGES, Stage};

fn refused(demo: &mut Demo, stage: Stage, method: &str, members: &str, code: i64, row: &str) {
    let answer = demo.ask(stage.request("1", method, members), "1");
    let what: String = members.chars().take(200).collect();
    assert_eq!(answer.code(), Some(code), "{row} {stage:?} {method} {what}: {:.400}", answer.text);
}

#[test]
fn cursors_that_are_not_ours() {
    for stage in STAGES {
        let mut demo = stage.start_with(&["--page-size", "1"]);
        let first = demo.ask(stage.request("1", "prompts/list", ""), "1");
        let cursor = first.json["result"]["nextCursor"].as_str().expect("more than one prompt").to_owned();
        let huge = "c".repeat(4097);
        for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
            for bad in ["garbage", "", "0", "-1", "99999999999999999999", "AAAA", "\\u0000", huge.as_str()] {
                refused(&mut demo, stage, method, &format!(r#""cursor":"{bad}""#), -32602, "I03");
            }
            for bad in ["7", "{}", "[]", "true"] {
                refused(&mut demo, stage, method, &format!(r#""cursor":{bad}"#), -32602, "I03");
            }
            refused(&mut demo, stage, method, &format!(r#""cursor":"{cursor}x""#), -32602, "I03");
            if method != "prompts/list" {
                refused(&mut demo, stage, method, &format!(r#""cursor":"{cursor}""#), -32602, "I03");
            }
        }
        let second = demo.ask(stage.request("1", "prompts/list", &format!(r#""cursor":"{cursor}""#)), "1");
        assert!(second.json["result"]["prompts"].is_array(), "I03 {stage:?}: {}", second.text);
        demo.finish();
    }
}

#[test]
fn uris_that_lead_elsewhere() {
    let long = format!("demo://notes/{}", "/,".repeat(500_000));
    for stage in STAGES {
        let mut demo = stage.start();
        for uri in [
            "demo://notes/../readme",
            "demo://notes/%2e%2e/readme",
            "demo://notes/%2e%2e%2freadme",
            "demo://notes/%252e%252e%252freadme",
            "demo://notes/..\\\\readme",
            "demo://notes/alpha/../beta",
            "demo://notes/alpha%00",
            "demo://notes/alpha\\u0000",
            "demo://notes/ALPHA",
            "demo://notes/alpha?x=1",
            "demo://notes/alpha#x",
            "demo://notes/alpha%2fbeta",
            "demo://notes/",
            "demo://user@notes/alpha",
            "demo://notes.evil/alpha",
            "demo:/notes/alpha",
            "demo://files/../../etc/passwd",
            "demo://files/%2e%2e/%2e%2e/etc/passwd",
            "demo://files//etc/passwd",
            "demo://files/..\\\\..\\\\etc\\\\passwd",
            "demo://files/proc/self/environ",
            "demo://files//proc/self/environ",
            "file:///etc/passwd",
            "file://host/etc/passwd",
            "file:///proc/self/environ",
            "/etc/passwd",
            "\\\\\\\\?\\\\C:\\\\x",
            "../Cargo.toml",
            "http://127.0.0.1/",
            "",
            " demo://readme",
            "demo://readme/",
            "demo://READMEx",
            long.as_str(),
        ] {
            let answer = demo.ask(stage.request("1", "resources/read", &format!(r#""uri":"{uri}""#)), "1");
            let uri: String = uri.chars().take(80).collect();
            assert!(
                matches!(answer.code(), Some(-32602 | -32002)),
                "I05 {stage:?} {uri}: {:.400}",
                answer.text
            );
        }
        for uri in ["null", "7", "[]", "{}"] {
            refused(&mut demo, stage, "resources/read", &format!(r#""uri":{uri}"#), -32602, "I05");
        }
        stage.settle(&mut demo, 0, "I05");
        demo.finish();
    }
}

#[test]
fn resources_that_do_not_exist() {
    for stage in STAGES {
        let mut demo = stage.start();
        for uri in ["demo://nowhere", "demo://notes/omega", "demo://files/no/such/file"] {
            refused(
                &mut demo,
                stage,
                "resources/read",
                &format!(r#""uri":"{uri}""#),
                stage.not_found(),
                "I09",
            );
        }
        demo.finish();
    }
}

#[test]
fn arguments_that_fail_the_schema() {
    for stage in STAGES {
        let mut demo = stage.start();
        for (tool, arguments) in [
            ("add", r#"{"a":"x","b":1}"#),
            ("add", r#"{"a":1.5,"b":1}"#),
            ("add", r#"{"a":1}"#),
            ("add", r#"{"a":9223372036854775808,"b":1}"#),
            ("add", r#"{"a":1e400,"b":1}"#),
            ("add", "{}"),
            ("print", r#"{"text":5}"#),
            ("print", r#"{"text":["must not be printed"]}"#),
            ("countdown", r#"{"steps":0}"#),
            ("countdown", r#"{"steps":1001}"#),
            ("sleep", r#"{"ms":-1}"#),
        ] {
            let answer = demo.ask(stage.call("1", tool, arguments), "1");
            let right = if stage.bad_arguments_are_results() && answer.code() != Some(-32700) {
                answer.json["result"]["isError"] == true
            } else {
                matches!(answer.code(), Some(-32602))
            };
            assert!(right, "I13 {stage:?} {tool} {arguments}: {}", answer.text);
        }
        let log = demo.finish();
        assert!(!String::from_utf8_lossy(&log).contains("must not be printed"), "I13 {stage:?}");
    }
}

#[test]
fn calls_that_are_malformed() {
    for stage in STAGES {
        let mut demo = stage.start();
        for members in [
            r#""name":"toggle","arguments":[]"#,
            r#""name":"toggle","arguments":"x""#,
            r#""name":"toggle","arguments":7"#,
            r#""name":7,"arguments":{}"#,
            r#""name":null,"arguments":{}"#,
            r#""name":"no_such_tool","arguments":{}"#,
            r#""name":"Toggle","arguments":{}"#,
            r#""name":"toggle\u0000","arguments":{}"#,
            r#""name":"","arguments":{}"#,
            r#""arguments":{}"#,
        ] {
            refused(&mut demo, stage, "tools/call", members, -32602, "I13");
        }
        for members in [
            r#""name":"no_such_prompt""#,
            r#""name":"greeting""#,
            r#""name":"greeting","arguments":{"name":7}"#,
            r#""name":"greeting","arguments":[]"#,
            r#""name":null"#,
        ] {
            refused(&mut demo, stage, "prompts/get", members, -32602, "I13");
        }
        stage.settle(&mut demo, 0, "I13");
        demo.finish();
    }
}

#[test]
fn keys_that_hurt_elsewhere() {
    let many: Vec<String> = (0..100_000).map(|key| format!(r#""k{key}":1"#)).collect();
    let many = format!(r#"{{"message":"x",{}}}"#, many.join(","));
    for stage in STAGES {
        let mut demo = stage.start();
        for arguments in [
            r#"{"message":"x","__proto__":{"admin":true}}"#,
            r#"{"message":"x","constructor":{"prototype":{}}}"#,
            many.as_str(),
        ] {
            let answer = demo.ask(stage.call("1", "echo", arguments), "1");
            let result = &answer.json["result"];
            let inert = result["content"][0]["text"] == "x"
                || result["isError"] == true
                || answer.code() == Some(-32602);
            assert!(inert, "I14 {stage:?}: {:.400}", answer.text);
        }
        stage.settle(&mut demo, 0, "I14");
        demo.finish();
    }
}

#[test]
fn completions_of_nothing() {
    let prompt = r#""ref":{"type":"ref/prompt","name":"greeting"}"#;
    let argument = r#""argument":{"name":"style","value":"f"}"#;
    for stage in STAGES {
        let mut demo = stage.start();
        for members in [
            argument.to_owned(),
            prompt.to_owned(),
            format!(r#""ref":null,{argument}"#),
            format!(r#"{prompt},"argument":null"#),
            format!(r#""ref":{{}},{argument}"#),
            format!(r#""ref":"ref/prompt",{argument}"#),
            format!(r#""ref":{{"type":"ref/tool","name":"greeting"}},{argument}"#),
            format!(r#""ref":{{"type":"ref/prompt"}},{argument}"#),
            format!(r#""ref":{{"type":"ref/prompt","name":"no_such_prompt"}},{argument}"#),
            format!(r#""ref":{{"type":"ref/resource","uri":"other://server/{{id}}"}},{argument}"#),
            format!(r#"{prompt},"argument":{{"name":"style"}}"#),
            format!(r#"{prompt},"argument":{{"name":"style","value":7}}"#),
            format!(r#"{prompt},"argument":[]"#),
        ] {
            refused(&mut demo, stage, "completion/complete", &members, -32602, "I19");
        }
        stage.settle(&mut demo, 0, "I19");
        demo.finish();
    }
}

#[test]
fn levels_that_are_none() {
    for stage in STAGES {
        let mut demo = stage.start();
        if stage == Stage::Modern {
            for level in [r#""loud""#, "7", r#""DEBUG""#, "null", "[]"] {
                let meta = format!(r#"{{{META},"io.modelcontextprotocol/logLevel":{level}}}"#);
                let params = format!(r#"{{"name":"toggle","arguments":{{}},"_meta":{meta}}}"#);
                let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
                let answer = demo.ask(line, "1");
                assert_eq!(answer.code(), Some(-32602), "I20 {level}: {}", answer.text);
            }
        } else {
            for members in [r#""level":"loud""#, r#""level":7"#, r#""level":"DEBUG""#, r#""level":null"#, ""]
            {
                refused(&mut demo, stage, "logging/setLevel", members, -32602, "I20");
            }
        }
        stage.settle(&mut demo, 0, "I20");
        demo.finish();
    }
}

/// Who one says one is changes nothing that one gets.
#[test]
fn names_of_clients_decide_nothing() {
    let list = |info: &str| {
        let mut demo = Demo::start();
        let meta = format!(r#"{{{META},"io.modelcontextprotocol/clientInfo":{info}}}"#);
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{meta}}}}}"#);
        demo.ask(line, "1").json["result"]["tools"].clone()
    };
    let nobody = list(r#"{"name":"x","version":"1"}"#);
    assert!(nobody.is_array(), "I22: {nobody}");
    assert_eq!(list(r#"{"name":"contexture-demo","version":"0.1.0"}"#), nobody, "I22");
    assert_eq!(list(r#"{"name":"admin\u0000\u202e","version":"999"}"#), nobody, "I22");
}

#[test]
fn metadata_that_is_forged() {
    for stage in NEWEST {
        let mut demo = stage.start();
        let meta = if stage == Stage::Modern { format!("{META},") } else { String::new() };
        let baggage = "k=v,".repeat(1 << 18);
        let forged = format!(
            r#"{{{meta}"io.modelcontextprotocol/serverInfo":{{"name":"forged"}},"io.modelcontextprotocol/subscriptionId":"forged","io.modelcontextprotocol/related-task":{{"taskId":"forged"}},"com.mcp.x/y":"forged","traceparent":"forged","tracestate":7,"baggage":"{baggage}"}}"#
        );
        let params = format!(r#"{{"name":"echo","arguments":{{"message":"x"}},"_meta":{forged}}}"#);
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let answer = demo.ask(line, "1");
        assert_eq!(answer.json["result"]["content"][0]["text"], "x", "I23 {stage:?}: {:.400}", answer.text);
        assert!(
            !answer.text.contains("forged") && answer.text.len() < 4096,
            "I23 {stage:?}: {:.400}",
            answer.text
        );
        stage.settle(&mut demo, 0, "I23");
        demo.finish();
    }
}

/// Log messages carry what the demo logs, and their levels are the eight that exist.
#[test]
fn log_messages_are_single_lines() {
    let stage = Stage::Session("2025-11-25");
    let mut demo = stage.start();
    demo.ask(stage.request("1", "logging/setLevel", r#""level":"debug""#), "1");
    demo.send(stage.call("2", "log_lines", "{}"));
    let mut levels = Vec::new();
    loop {
        let line = demo.next();
        if line.raw_id().as_deref() == Some("2") {
            break;
        }
        if line.method() == Some("notifications/message") {
            levels.push(line.json["params"]["level"].as_str().map(ToOwned::to_owned));
        }
    }
    let wanted = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    assert_eq!(levels, wanted.map(|level| Some(level.to_owned())), "I20");
    assert_ne!(demo.ask(stage.request("3", "ping", ""), "3").json["result"], Value::Null);
}
