//! URLs of repositories as a host sees them: each way to write a URL leads to the same repository.
//!
//! The host has no case. The scheme, the user and the port decide how to get there, and not what is there. What a path means is
//! for [`host`](super::host) to say.

use bstr::{BStr, ByteSlice};

/// A URL, or the beginning of one.
pub(super) struct HostUrl<'a> {
    host: &'a [u8],
    /// The path below the host, without the slash before it.
    path: &'a [u8],
}

impl<'a> HostUrl<'a> {
    /// Splits `<scheme>://[<user>@]<host>[:<port>]/<path>`, `[<user>@]<host>:<path>`, or a path without a host.
    pub(super) fn parse(url: &'a BStr) -> Self {
        let before_slash = |text: &[u8]| text.find_byte(b'/').unwrap_or(text.len());
        let (authority, path) = match (url.split_once_str("://"), url.split_once_str(":")) {
            (Some((_, rest)), _) => rest.split_at(before_slash(rest)),
            (None, Some((host, path))) if before_slash(url) > host.len() => (host, path),
            _ => (&b""[..], url.as_bytes()),
        };
        let host = authority.rsplit_once_str("@").map_or(authority, |it| it.1);
        let port = host.rsplit_once_str(":");
        let port = port.filter(|(_, port)| port.iter().all(u8::is_ascii_digit));
        Self {
            host: port.map_or(host, |(host, _)| host),
            path: path.strip_prefix(b"/").unwrap_or(path),
        }
    }

    /// The path of this URL below `prefix`, whose case does not matter.
    pub(super) fn below(&self, prefix: &HostUrl<'_>) -> Option<&'a BStr> {
        let is_host = self.host.eq_ignore_ascii_case(prefix.host);
        let outer = prefix.path.strip_suffix(b"/").unwrap_or(prefix.path);
        let (start, rest) = self.path.split_at_checked(outer.len())?;
        let is_below = is_host && start.eq_ignore_ascii_case(outer);
        let rest = match outer {
            b"" => Some(rest),
            _ => rest.strip_prefix(b"/"),
        };
        rest.filter(|_| is_below).map(ByteSlice::as_bstr)
    }

    /// Whether both URLs mean the same repository, on a host that knows no case.
    pub(super) fn is(&self, other: &HostUrl<'_>) -> bool {
        self.host.eq_ignore_ascii_case(other.host)
            && bare(self.path).eq_ignore_ascii_case(bare(other.path))
    }
}

/// The `path` of a repository without the parts that a URL may leave out.
pub(super) fn bare(path: &[u8]) -> &[u8] {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    path.strip_suffix(b".git").unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::HostUrl;

    #[test]
    fn every_way_to_write_a_url() {
        let prefix = HostUrl::parse("https://code.example/".into());
        let table = "https://code.example/Group/lib.git | http://code.example/Group/lib.git | \
                     https://CODE.Example/Group/lib.git | HTTPS://code.example/Group/lib.git | \
                     https://code.example:8443/Group/lib.git | https://me@code.example/Group/lib.git | \
                     https://me:secret@code.example:80/Group/lib.git | git://code.example/Group/lib.git | \
                     ssh://code.example/Group/lib.git | ssh://git@code.example:2222/Group/lib.git | \
                     git+ssh://git@code.example/Group/lib.git | git@code.example:Group/lib.git | \
                     git@Code.Example:/Group/lib.git | code.example:Group/lib.git";
        for url in table.split(" | ") {
            let found = HostUrl::parse(url.into()).below(&prefix);
            assert_eq!(found, Some("Group/lib.git".into()), "{url}");
        }
        let table = "https://code.example.org/Group/lib.git | \
                     https://code.example@other.example/Group/lib.git | \
                     https://other.example/code.example/Group/lib.git | \
                     other.example:code.example/Group/lib.git | /code.example/Group/lib.git | \
                     ./code.example:Group/lib.git | file:///code.example/Group/lib.git";
        for url in table.split(" | ") {
            assert_eq!(HostUrl::parse(url.into()).below(&prefix), None, "{url}");
        }
    }

    #[test]
    fn prefixes_end_where_a_part_ends() {
        for (prefix, url, expected) in [
            ("https://x/git", "https://x/git/a/b", Some("a/b")),
            ("https://x/Git/", "http://x/git/a/b", Some("a/b")),
            ("https://x/gi", "https://x/git/a/b", None),
            ("https://x", "https://x//a", Some("/a")),
            ("https://x:81/", "https://x/a", Some("a")),
            ("x:", "ssh://git@x/a", Some("a")),
            ("https://[::1]:3000/", "ssh://git@[::1]:3000/a", Some("a")),
        ] {
            let found = HostUrl::parse(url.into()).below(&HostUrl::parse(prefix.into()));
            assert_eq!(found, expected.map(Into::into), "{prefix} {url}");
        }
    }

    #[test]
    fn the_same_repository() {
        let url = HostUrl::parse("https://x/A/B.git".into());
        for (other, expected) in [
            ("git@X:a/b", true),
            ("http://x/a/b.git/", true),
            ("http://x/a/c", false),
            ("http://y/a/b", false),
        ] {
            assert_eq!(url.is(&HostUrl::parse(other.into())), expected, "{other}");
        }
    }
}
