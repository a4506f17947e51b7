//! gitweb, which runs as a CGI program of a web server, and offers snapshots.

use std::path::Path;

use super::{Served, server::Server, server_program};
use crate::support::{installed, skip};

const GITWEB: &str = "/usr/share/gitweb/gitweb.cgi";

/// A web server with gitweb, whose git is the stand-in. `None` if a program is missing, which is reported.
fn gitweb(served: &Served) -> Option<Server> {
    let lighttpd = server_program("lighttpd")?;
    if !Path::new(GITWEB).is_file() {
        skip("gitweb is not installed");
        return None;
    }
    let top = served.place.top.display();
    let host = served.place.project.clone().at("..");
    if !installed("curl") || !installed("perl") || host.shell("perl -MCGI -e 1").code() != 0 {
        skip("the CGI module of perl is not installed");
        return None;
    }
    let settings = format!("our $GIT = '{top}/first/git';\nour $projectroot = '{top}';\n");
    host.write("gitweb.conf", settings);
    Some(Server::start(|port| {
        let configuration = format!(
            "server.bind = \"127.0.0.1\"\nserver.port = {port}\nserver.document-root = \"/usr/share/gitweb\"\n\
             server.modules = (\"mod_setenv\", \"mod_cgi\")\ncgi.assign = (\".cgi\" => \"/usr/bin/perl\")\n\
             setenv.add-environment = (\"GITWEB_CONFIG\" => \"{top}/gitweb.conf\")\n"
        );
        host.write("lighttpd.conf", configuration);
        let mut command = host.command(&lighttpd);
        command.args(["-D", "-f", "lighttpd.conf"]);
        command
    }))
}

#[test]
fn gitweb_offers_snapshots() {
    let Some(served) = Served::new() else { return };
    let Some(server) = gitweb(&served) else {
        return;
    };
    let client = &served.place.project;
    let hash = client.git(["rev-parse", "--short=7", "HEAD"]);
    let url = format!(
        "http://127.0.0.1:{}/gitweb.cgi?p=project.git;a=snapshot;h=HEAD;sf=tgz",
        server.port
    );
    let archive = format!("--prefix=project-HEAD-{hash}/ HEAD | gzip -n");
    let archive = served.archive(&archive);
    served.assert_served(client, &format!("curl -sSf '{url}'"), &archive);
}
