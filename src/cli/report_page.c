#include "cli/report_page.h"

#include "cli/terminal.h"

static const char style[] =
    ":root{color-scheme:light dark;--bg:#f5f6f3;--card:#fff;--ink:#18211d;--muted:#5b6862;--line:#dde3df;"
    "--good:#0a7d60;--soft:#cfe8de;--bad:#c4472f;--grey:#98a39d}"
    "@media(prefers-color-scheme:dark){:root{--bg:#0f1412;--card:#171d1a;--ink:#e7edea;--muted:#98a59f;--line:#2b342f;"
    "--good:#41c9a2;--soft:#1e4438;--bad:#f2836a;--grey:#6c7973}}"
    "*{box-sizing:border-box}"
    "body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,"
    "'Noto Sans',Ubuntu,sans-serif;-webkit-text-size-adjust:100%}"
    "main{max-width:60rem;margin:0 auto;padding:1.5rem 1rem 3rem}"
    "header{margin:.5rem 0 1.25rem}"
    "h1{font-size:1.6rem;line-height:1.2;margin:0 0 .25rem;letter-spacing:-.01em}"
    "h2{font-size:1.05rem;margin:0 0 .75rem}"
    "p{margin:0 0 .5rem}"
    ".muted,figcaption,th{color:var(--muted)}"
    ".small{font-size:.85rem}"
    "section{background:var(--card);border:1px solid var(--line);border-radius:.75rem;padding:1.1rem 1.25rem;"
    "margin:0 0 1rem}"
    ".hero{display:grid;grid-template-columns:1fr;gap:1.25rem}"
    ".hero .from{font-size:1.5rem;color:var(--muted);font-variant-numeric:tabular-nums}"
    ".hero .to{font-size:3.4rem;line-height:1.05;font-weight:700;color:var(--good);letter-spacing:-.03em;"
    "font-variant-numeric:tabular-nums}"
    ".tiles{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:1rem;margin:0 0 1rem}"
    ".tiles section{margin:0}"
    ".tile b{display:block;overflow-wrap:anywhere;font-size:1.5rem;line-height:1.2;font-variant-numeric:tabular-nums}"
    ".tile span{font-size:.85rem;color:var(--muted)}"
    "figure{margin:0}"
    "svg{display:block;width:100%;height:auto;overflow:visible}"
    "svg text{font:11px system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif;fill:var(--muted)}"
    "svg .b{font-weight:600}"
    ".f-good{fill:var(--good)}.f-bad{fill:var(--bad)}.f-grey{fill:var(--grey)}svg text.f-good{fill:var(--good)}"
    ".s-good{stroke:var(--good)}.s-grey{stroke:var(--grey)}.s-line{stroke:var(--line)}"
    ".plot{position:relative;padding-left:2.6rem}"
    ".plot svg{height:9rem}"
    ".plot "
    ".y{position:absolute;left:0;width:2.2rem;text-align:right;white-space:nowrap;font-size:.75rem;"
    "color:var(--muted);transform:translateY(-50%)}"
    ".x{display:flex;justify-content:space-between;padding:.3rem 0 0 2.6rem;font-size:.75rem;color:var(--muted)}"
    ".key{display:inline-block;width:.7rem;height:.7rem;border-radius:.15rem;margin:0 .35rem 0 0}"
    ".key+span{margin-right:1rem}"
    ".k-good{background:var(--good)}.k-bad{background:var(--bad)}"
    ".scroll{overflow-x:auto}"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}"
    "th{font-weight:500;font-size:.8rem;text-align:left;padding:0 .75rem .35rem 0;vertical-align:bottom}"
    "td{padding:.45rem .75rem .45rem 0;border-top:1px solid var(--line);vertical-align:top}"
    "th:last-child,td:last-child{padding-right:0}"
    ".n{text-align:right;white-space:nowrap}"
    ".wide{display:none}"
    ".kind{padding:.55rem 0;border-top:1px solid var(--line)}"
    ".kind:first-of-type{border-top:0}"
    ".row{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1.5rem}"
    ".bar{display:flex;height:.7rem;border-radius:.35rem;overflow:hidden;background:var(--line);margin:.4rem 0 0}"
    ".bar i{display:block;height:100%}"
    ".two>div{break-inside:avoid;padding:0 0 .5rem}"
    "dl{display:grid;grid-template-columns:1fr auto;margin:0 0 .5rem;font-variant-numeric:tabular-nums}"
    "dt,dd{margin:0;padding:.3rem 0;border-top:1px solid var(--line)}"
    "dd{text-align:right;padding-left:1rem}"
    "h3{font-size:.85rem;font-weight:500;color:var(--muted);margin:0 0 .35rem}"
    ".tool{border-top:1px solid var(--line);padding:.8rem 0}"
    ".tool:first-of-type{border-top:0;padding-top:0}"
    ".tool:last-child{padding-bottom:0}"
    ".name{font-weight:600;overflow-wrap:anywhere}td.name{min-width:6rem}"
    ".facts{display:flex;flex-wrap:wrap;gap:0 1.1rem;font-size:.9rem;color:var(--muted);"
    "font-variant-numeric:tabular-nums}"
    ".facts b{color:var(--ink);font-weight:600}"
    ".fix{margin:.3rem 0 0;padding-left:.75rem;border-left:3px solid var(--good)}"
    "code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9em;overflow-wrap:anywhere}"
    "@media(min-width:44rem){.hero{grid-template-columns:2fr 3fr;align-items:center}.tiles{grid-template-columns:"
    "repeat(4,minmax(0,1fr))}.two{columns:2;column-gap:2.5rem}main{padding:2.5rem 1.5rem 4rem}h1{font-size:2rem}"
    ".hero .to{font-size:4.2rem}.wide{display:table-cell}}"
    "@media print{@page{margin:14mm}:root{color-scheme:light;--bg:#fff;--card:#fff;--ink:#000;--muted:#444;--line:#ccc;"
    "--good:#0a7d60;--soft:#cfe8de;--bad:#c4472f;--grey:#8a948f}"
    "*{-webkit-print-color-adjust:exact;print-color-adjust:exact}body{font-size:10.5pt}main{max-width:none;padding:0}"
    "section,.tool,tr{break-inside:avoid}section.long{break-inside:auto}h2{break-after:avoid}"
    ".hero{grid-template-columns:2fr 3fr}.tiles{grid-template-columns:repeat(4,minmax(0,1fr))}"
    ".two{columns:2;column-gap:2.5rem}.wide{display:table-cell}.scroll{overflow:visible}}";

void hf_page_put(struct hf_page *page, const char *markup) {
  if (page->error == 0)
    page->error = hf_buf_append_str(page->out, hf_str_from(markup));
}

void hf_page_printf(struct hf_page *page, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (page->error == 0)
    page->error = hf_buf_vprintf(page->out, format, args);
  va_end(args);
}

static const char *escape_of(unsigned char c) {
  switch (c) {
  case '&':
    return "&amp;";
  case '<':
    return "&lt;";
  case '>':
    return "&gt;";
  case '"':
    return "&quot;";
  case '\'':
    return "&#39;";
  default:
    return c < 0x20 || c == 0x7f ? "\xef\xbf\xbd" : NULL;
  }
}

void hf_page_text(struct hf_page *page, struct hf_str text, size_t max) {
  const struct hf_str shown = max ? hf_terminal_cut(text, max) : text;
  for (size_t i = 0; i < shown.len && page->error == 0;) {
    const size_t hidden = hf_terminal_hidden((struct hf_str){shown.ptr + i, shown.len - i});
    const char *escape = hidden ? "\xef\xbf\xbd" : escape_of((unsigned char)shown.ptr[i]);
    page->error =
        escape ? hf_buf_append_str(page->out, hf_str_from(escape)) : hf_buf_append(page->out, shown.ptr + i, 1);
    i += hidden ? hidden : 1;
  }
  if (shown.len < text.len)
    hf_page_put(page, "…");
}

void hf_page_begin(struct hf_page *page, struct hf_buf *out, const char *title) {
  *page = (struct hf_page){.out = out};
  hf_page_put(page, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src "
                    "'unsafe-inline'\">\n<meta name=\"robots\" content=\"noindex\">\n<title>");
  hf_page_text(page, hf_str_from(title), 0);
  hf_page_put(page, "</title>\n<style>");
  hf_page_put(page, style);
  hf_page_put(page, "</style>\n</head>\n<body>\n<main>\n");
}

int hf_page_end(struct hf_page *page) {
  hf_page_put(page, "</main>\n</body>\n</html>\n");
  return page->error;
}
