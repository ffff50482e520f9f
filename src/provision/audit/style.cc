// pure: see style.h.
#include "provision/audit/style.h"

namespace agentbox::provision::audit {

std::string_view style_sheet() {
  return R"css(
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--ink:#1c2430;--soft:#5a6676;--line:#d9dee6;
--bad:#b3261e;--bad-tint:#fdeceb;--warn:#8a5a00;--warn-tint:#fff4dc;--good:#1b6e3c;--good-tint:#e6f4ea;
--cool:#1d5fa8;--cool-tint:#e7f0fb}
@media (prefers-color-scheme:dark){:root{--page:#11151b;--card:#191f28;--ink:#e6eaf0;--soft:#9aa6b6;
--line:#2e3744;--bad:#ff9a92;--bad-tint:#3a1d1c;--warn:#f3c46a;--warn-tint:#35290f;--good:#7fd39b;
--good-tint:#15301f;--cool:#8fbdf2;--cool-tint:#16283d}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1120px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:26px;line-height:1.2;margin:0 0 4px}
h2{font-size:22px;margin:36px 0 12px}
h3{font-size:17px;margin:28px 0 8px}
p{margin:6px 0}
code{font:13px/1.45 ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere}
.soft{color:var(--soft)}
.verdict{display:inline-block;margin:12px 0 0;padding:6px 14px;border-radius:8px;font-weight:600;
background:var(--good-tint);color:var(--good)}
.verdict.warning{background:var(--warn-tint);color:var(--warn)}
.verdict.error{background:var(--bad-tint);color:var(--bad)}
.finding{background:var(--card);border:1px solid var(--line);border-left:5px solid var(--warn);
border-radius:8px;padding:12px 16px;margin:10px 0;break-inside:avoid}
.finding.error{border-left-color:var(--bad)}
.finding h4{margin:0 0 6px;font-size:15px}
.finding dl{display:grid;grid-template-columns:56px 1fr;gap:3px 12px;margin:0}
.finding dt{color:var(--soft)}
.finding dd{margin:0;overflow-wrap:anywhere}
.tag{display:inline-block;padding:1px 8px;border-radius:6px;font-size:12px;font-weight:600;
background:var(--warn-tint);color:var(--warn);white-space:nowrap}
.tag.error,.tag.GRANTED{background:var(--bad-tint);color:var(--bad)}
.tag.refused,.tag.held{background:var(--good-tint);color:var(--good)}
.tag.granted,.tag.rule{background:var(--cool-tint);color:var(--cool)}
.map{display:flex;align-items:stretch;background:var(--card);border:1px solid var(--line);
border-radius:10px;padding:16px;break-inside:avoid}
.zone{flex:1 1 0;border:2px solid var(--line);border-radius:8px;padding:10px 12px;min-width:0}
.zone b{display:block}
.zone ul{margin:6px 0 0;padding-left:18px;font-size:14px}
.zone.door{border-color:var(--cool)}
.zone.box{border-color:var(--warn);border-style:dashed}
.way{display:flex;flex-direction:column;justify-content:center;align-items:center;text-align:center;
flex:0 0 128px;padding:0 10px;font-size:13px;color:var(--soft)}
.way i{display:block;width:100%;border-top:2px solid var(--soft);margin:6px 0;position:relative}
.way i::after{content:"";position:absolute;right:0;top:-6px;border:5px solid transparent;
border-left-color:var(--soft)}
.way strong{color:var(--good)}
.way strong.error{color:var(--bad)}
.matrix{display:grid;grid-template-columns:repeat(auto-fill,minmax(240px,1fr));gap:8px;margin:0;padding:0;
list-style:none}
.matrix li{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px 12px;
display:flex;flex-direction:column;align-items:flex-start;gap:4px;break-inside:avoid}
.matrix li.GRANTED{border-color:var(--bad)}
.matrix small{color:var(--soft);font-size:12.5px;line-height:1.35;overflow-wrap:anywhere}
.matrix span{overflow-wrap:anywhere}
.table{background:var(--card);border:1px solid var(--line);border-radius:8px;overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px}
th,td{padding:7px 12px;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
td{overflow-wrap:anywhere;min-width:84px}
th{color:var(--soft);font-weight:600;white-space:nowrap}
tr:last-child td{border-bottom:0}
@media (max-width:720px){main{padding:18px 12px 40px}h1{font-size:22px}
.map{flex-direction:column}.way{flex:none;padding:8px 0}
.way i{width:0;height:22px;border-top:0;border-left:2px solid var(--soft)}
.way i::after{right:-6px;top:auto;bottom:-6px;border-left-color:transparent;border-top-color:var(--soft)}
th{white-space:normal}.matrix{gap:5px}.matrix li{padding:6px 10px}thead{display:none}table,tbody,tr,td{display:block}
tr{padding:8px 0;border-bottom:1px solid var(--line)}tr:last-child{border-bottom:0}
td{border:0;padding:2px 12px;min-width:0}
td:empty{display:none}
td::before{content:attr(data-column) ": ";color:var(--soft)}}
@media print{:root{color-scheme:light;--page:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;
--bad:#b3261e;--bad-tint:#fff;--warn:#8a5a00;--warn-tint:#fff;--good:#1b6e3c;--good-tint:#fff;
--cool:#1d5fa8;--cool-tint:#fff}
body{font-size:10.5pt}main{max-width:none;padding:0}table{font-size:8.5pt}th,td{padding:3px 6px}th{white-space:normal}td{min-width:48px}
.table{overflow:visible}tr{break-inside:avoid}h2,h3{break-after:avoid}
.tag,.verdict{border:1px solid currentColor}}
)css";
}

}  // namespace agentbox::provision::audit
