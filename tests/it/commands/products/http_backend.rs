//! `git http-backend`, which serves `git archive --remote=http://…` since git 2.44.

use super::{Served, server::Server, server_program};
use crate::commands::conversation::{Answer, packets};
use crate::support::process::Output;
use crate::support::{git_version, installed, skip};

/// The first version whose `http-backend` serves archives.
const ARCHIVES_SINCE: (u32, u32) = (2, 44);

/// A web server with the stand-in: `/git` for everybody, `/known` for a user whom it knows. `None` if a program is missing, which
/// is reported.
fn web_server(served: &Served) -> Option<Server> {
    let lighttpd = server_program("lighttpd")?;
    let host = served.place.project.clone().at("..");
    if !installed("curl") || !installed("gzip") {
        return None;
    }
    if host
        .shell("test -x \"$($REAL --exec-path)/git-http-backend\"")
        .code()
        != 0
    {
        skip("git-http-backend is not installed");
        return None;
    }
    let top = served.place.top.display();
    let environment = format!(
        "\"GIT_PROJECT_ROOT\" => \"{top}\", \"GIT_HTTP_EXPORT_ALL\" => \"\", \"PATH\" => \"{}\", \"HOME\" => \"{top}\"",
        std::env::var("PATH").expect("text")
    );
    Some(Server::start(|port| {
        let configuration = format!(
            "server.bind = \"127.0.0.1\"\nserver.port = {port}\nserver.document-root = \"{top}\"\n\
             server.modules = (\"mod_alias\", \"mod_setenv\", \"mod_cgi\")\ncgi.assign = (\"\" => \"\")\n\
             alias.url = (\"/git\" => \"{top}/first/git-http-backend\", \"/known\" => \"{top}/first/git-http-backend\")\n\
             setenv.add-environment = ({environment})\n\
             $HTTP[\"url\"] =~ \"^/known\" {{ setenv.add-environment = ({environment}, \"REMOTE_USER\" => \"ann\") }}\n"
        );
        host.write("lighttpd.conf", configuration);
        let mut command = host.command(&lighttpd);
        command.args(["-D", "-f", "lighttpd.conf"]);
        command
    }))
}

/// The answer to a request for an archive, whose status is on the error stream.
fn ask(served: &Served, server: &Server, path: &str, words: &str) -> Output {
    let script = format!(
        "curl -sS -w '%{{stderr}}%{{http_code}}' -H 'Content-Type: application/x-git-upload-archive-request' \
         {words} http://127.0.0.1:{}/{path}/project.git/git-upload-archive",
        server.port
    );
    served.place.project.shell(&script)
}

#[test]
fn http_backend_serves_archives() {
    let Some(served) = Served::new() else { return };
    let Some(server) = web_server(&served) else {
        return;
    };
    let project = &served.place.project;
    let bare = project.clone().at("../project.git");
    // Everything else comes from git.
    let url = format!("http://127.0.0.1:{}/git/project.git", server.port);
    let service = format!("curl -sSf '{url}/info/refs?service=git-upload-pack' | head -c 30");
    let advertised = project.shell(&service).success();
    assert_eq!(advertised, b"001e# service=git-upload-pack\n");
    if git_version() < ARCHIVES_SINCE {
        skip("git serves archives over HTTP since 2.44");
        return;
    }
    let request = [
        &packets(&[b"argument --format=zip\n", b"argument HEAD\n"])[..],
        b"0000",
    ]
    .concat();
    project.write("request", request);
    project.script("gzip -k request");
    let plain = "--data-binary @request";
    assert_eq!(ask(&served, &server, "git", plain).messages(), "403");
    bare.git(["config", "http.uploadarchive", "false"]);
    assert_eq!(ask(&served, &server, "known", plain).messages(), "403");
    bare.git(["config", "--unset", "http.uploadarchive"]);
    let expected = served.archive("--format=zip HEAD");
    let bodies = [
        ("known", plain),
        ("git", plain),
        (
            "git",
            "-H 'Content-Encoding: gzip' --data-binary @request.gz",
        ),
        (
            "git",
            "-H 'Transfer-Encoding: chunked' --data-binary @request",
        ),
    ];
    for (index, (path, words)) in bodies.into_iter().enumerate() {
        let answer = ask(&served, &server, path, words);
        assert_eq!(answer.messages(), "200", "{words}");
        assert!(Answer::read(&answer).data == expected, "{words}");
        assert_eq!(served.logged(), index + 1, "{words}");
        bare.git(["config", "http.uploadarchive", "true"]);
    }
    if project
        .shell("test -x \"$($REAL --exec-path)/git-remote-http\"")
        .code()
        != 0
    {
        skip("git-remote-http is not installed");
        return;
    }
    let script = format!("$REAL archive --remote={url} --format=zip HEAD");
    served.assert_served(project, &script, &expected);
}
