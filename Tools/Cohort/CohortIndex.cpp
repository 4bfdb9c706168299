#include "Tools/Cohort/CohortIndex.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Runs/Report/Html.h"
#include "Core/Runs/Report/RunPage.h"
#include "Tools/Cohort/CohortFolder.h"
#include "Tools/Cohort/RowClaim.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace tessera {
namespace {

constexpr const char* indexStyle = R"(
th button{font:inherit;background:none;border:0;padding:0;color:inherit;cursor:pointer;text-decoration:underline dotted}
td.r{min-width:9em;font-size:.9em}td.o{outline:2px solid var(--look);outline-offset:-2px}td,th{padding:.3em}td.n{font-size:.9em}
th{font-size:.85em;max-width:8em}td.id{max-width:11em;font-size:.9em}
td.id a,td.id b{display:block;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-weight:400}
img{display:block;width:min(240px,15vw);height:auto;background:#000}.rate select,.rate input{display:block;max-width:8em}
p.rate input{display:inline;max-width:100%}@media(max-width:700px){body{margin:.5em}.all{overflow-x:auto}img{width:150px}}
@media print{th{position:static}.rate,.filter{display:none}tr{break-inside:avoid}}
)";

// Sorts by the data of a cell (data-k: a number; or its text), rates, and keeps ratings in the browser until
// they are saved; a file of ratings can be opened again. Keys j and k go to the next and previous row, g, f
// and b rate the row as good, fair and bad.
constexpr const char* indexScript = R"(
const body=document.querySelector('tbody'),heads=[...document.querySelectorAll('th')];
const key=(r,c)=>{const d=r.cells[c],s=d.querySelector('select');if(s)return s.selectedIndex?-s.selectedIndex:NaN;
return'k'in d.dataset?(d.dataset.k===''?NaN:+d.dataset.k):d.textContent};
const compare=(a,b)=>typeof a==='string'?a.localeCompare(b,undefined,{numeric:true}):isNaN(a)?(isNaN(b)?0:1):isNaN(b)?-1:a-b;
heads.forEach((h,c)=>{if(h.classList.contains('p'))return;const b=document.createElement('button');b.textContent=h.textContent;h.replaceChildren(b);
b.onclick=()=>{const down=h.getAttribute('aria-sort')==='ascending';heads.forEach(o=>o.removeAttribute('aria-sort'));
h.setAttribute('aria-sort',down?'descending':'ascending');
const k=[...body.rows].map(r=>[key(r,c),r]);
k.sort((a,b)=>{const x=compare(a[0],b[0]);return down&&!(a[0]!==a[0]||b[0]!==b[0])?-x:x});
body.append(...k.map(a=>a[1]))}});
const place='tessera ratings '+location.pathname,words=['','good','fair','bad'];let ratings={};
try{ratings=JSON.parse(localStorage.getItem(place))||{}}catch{}
const save=document.getElementById('save'),open=document.getElementById('open');
const text=()=>'id\trating\tnote\n'+Object.keys(ratings).sort().map(i=>i+'\t'+ratings[i].join('\t')+'\n').join('');
const keep=()=>{save.href='data:text/tab-separated-values;charset=utf-8,'+encodeURIComponent(text());
const n=Object.keys(ratings).length;save.textContent='Save '+n+' rating'+(n===1?'':'s')+' as ratings.tsv';
try{localStorage.setItem(place,JSON.stringify(ratings))}catch{}};
const show=r=>{const[s,n]=r.querySelectorAll('select,input');[s.value,n.value]=ratings[r.dataset.id]||['','']};
for(const r of body.rows){const id=r.dataset.id,c=r.querySelector('.rate'),s=document.createElement('select'),n=document.createElement('input');
s.setAttribute('aria-label','rating of '+id);n.setAttribute('aria-label','note on '+id);n.placeholder='note';n.size=12;
for(const o of words)s.add(new Option(o||'not rated',o));
s.onchange=n.onchange=()=>{n.value=n.value.replace(/[\t\r\n]/g,' ');if(s.value||n.value)ratings[id]=[s.value,n.value];else delete ratings[id];keep()};
c.append(s,n);show(r)}
open.onchange=async()=>{for(const l of(await open.files[0].text()).split(/\r?\n/).slice(1)){const[i,w,n]=l.split('\t');
if(i&&words.includes(w))ratings[i]=[w,n||'']}for(const r of body.rows)show(r);keep()};
document.querySelectorAll('.rate,.filter').forEach(c=>c.hidden=false);keep();
const only=document.getElementById('only'),find=document.getElementById('find');
only.onchange=find.oninput=()=>{const words=find.value.toLowerCase();let n=0;for(const r of body.rows){
const v=only.value,fits=v===''||(v==='unrated'?!(ratings[r.dataset.id]||[''])[0]:r.dataset.v===v);
r.hidden=!fits||!r.textContent.toLowerCase().includes(words);n+=!r.hidden}
document.getElementById('count').textContent=n+' of '+body.rows.length+' rows'};only.onchange();
document.onkeydown=e=>{if(e.ctrlKey||e.altKey||e.metaKey||/INPUT|SELECT/.test(e.target.tagName)||!'jkgfb'.includes(e.key))return;
const r=[...body.rows].filter(r=>!r.hidden),here=document.activeElement.closest('tbody tr'),rated=words.find(w=>w&&w[0]===e.key);
if(rated){if(here){const s=here.querySelector('select');s.value=rated;s.onchange()}return}
const to=r[r.indexOf(here)+(e.key==='j'?1:-1)],f=to&&to.querySelector('a,select');
if(f){f.focus();to.scrollIntoView({block:'nearest'})}};
)";

std::string thumbnailSource(const std::string& folder, const CohortRow& row, const IndexOptions& options)
{
  if (!options.singleFile)
    return htmlPath(row.thumbnail);
  const std::string path = folder + "/" + row.thumbnail;
  const std::string bytes = readTextFile(path).text;
  if (bytes.empty())
    failAs(ExitCode::unreadableInput, path, "the thumbnail of row " + row.id + " cannot be read",
           "a JPEG file that is there, or a row without a thumbnail");
  return "data:image/jpeg;base64," + base64(bytes);
}

std::string numberCell(const std::optional<double>& value, bool isOutside = false)
{
  return filledIn(
      "<td class=\"n$\" data-k=\"$\">$</td>",
      {isOutside ? " o" : "", value ? significant(*value, 17) : "", value ? shortNumber(*value) : ""});
}

/// "largest displacement (mm)"
std::string figureName(std::size_t figure)
{
  const FigureInfo& info = figureInfos[figure];
  return std::string(info.name) + (*info.unit ? " (" + std::string(info.unit) + ")" : "");
}

std::string rowHtml(const CohortRow& row, const std::string& thumbnail,
                    const std::vector<std::size_t>& figures, std::size_t place)
{
  const std::string verdict = verdictText(row.judgement.verdict), id = htmlText(row.id);
  std::string html = filledIn(R"(<tr data-id="$" data-v="$">$<td class="id" title="$">)",
                              {id, verdict, numberCell(static_cast<double>(place)), id});
  html += row.page.empty() ? "<b>" + id + "</b>" : filledIn(R"(<a href="$">$</a>)", {htmlPath(row.page), id});
  for (const auto& [name, value] : row.covariates)
    html += filledIn(R"(<span class="s">$ $</span><br>)", {htmlText(name), htmlText(value)});
  html += "</td><td>";
  if (!thumbnail.empty())
    html += filledIn(R"(<img loading="lazy" width="288" height="96" alt="slices of $" src="$">)",
                     {id, thumbnail});
  html += filledIn(R"(</td><td class="r"><span class="v $">$</span>)", {verdict, verdict});
  for (const std::string& reason : row.judgement.reasons)
    html += "<br>" + htmlText(reason);
  html += "</td>";
  for (const std::size_t f : figures)
    html += numberCell(row.figures[f], row.judgement.conspicuous.contains(f));
  return html + numberCell(row.seconds) + "<td class=\"rate\" hidden></td></tr>\n";
}

std::string mediansHtml(const CohortSpread& spread, const std::vector<std::size_t>& figures)
{
  using Spread = CohortSpread::Spread;
  std::string html = "<tfoot>";
  for (const auto& [name, value] :
       {std::pair{"median", &Spread::median}, {"median absolute deviation (MAD)", &Spread::mad}}) {
    html += filledIn(R"(<tr><th class="p" colspan="4">$</th>)", {name});
    for (const std::size_t f : figures)
      html += filledIn(R"(<td class="n">$</td>)", {spread.of[f] ? shortNumber((*spread.of[f]).*value) : ""});
    html += "<td></td></tr>";
  }
  return html + "</tfoot>";
}

bool isDone(const CohortRow& row)
{
  return row.alone.verdict == Verdict::look || row.alone.verdict == Verdict::done;
}

/// Those that some row has.
std::vector<std::size_t> shownFigures(const std::vector<CohortRow>& rows)
{
  std::vector<std::size_t> figures;
  for (std::size_t f = 0; f < figureCount; ++f)
    if (std::ranges::any_of(rows, [f](const CohortRow& row) { return row.figures[f].has_value(); }))
      figures.push_back(f);
  return figures;
}

}

CohortSpread judgeCohort(std::vector<CohortRow>& rows)
{
  std::vector<Figures> done;
  for (const CohortRow& row : rows)
    if (isDone(row))
      done.push_back(row.figures);
  const CohortSpread spread = spreadOf(done);
  for (CohortRow& row : rows) {
    row.judgement = row.alone;
    if (!isDone(row))
      continue;
    const Judgement beside = judgedInCohort(row.figures, spread);
    row.judgement.reasons.insert(row.judgement.reasons.begin(), beside.reasons.begin(), beside.reasons.end());
    row.judgement.verdict = std::min(row.alone.verdict, beside.verdict);
    row.judgement.badness = beside.badness;
    row.judgement.conspicuous = beside.conspicuous;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const CohortRow& a, const CohortRow& b) {
    if (a.judgement.verdict != b.judgement.verdict)
      return a.judgement.verdict < b.judgement.verdict;
    if (a.judgement.badness != b.judgement.badness)
      return a.judgement.badness > b.judgement.badness;
    return a.id < b.id;
  });
  return spread;
}

void writeCohortIndex(const std::string& folder, const std::vector<CohortRow>& rows,
                      const CohortSpread& spread, const IndexOptions& options)
{
  if (options.singleFile && rows.size() > maxRowsOfSingleFile)
    failAs(ExitCode::usage, "--single-file",
           std::to_string(rows.size()) + " rows: a page with so many pictures opens slowly",
           "at most " + std::to_string(maxRowsOfSingleFile) + " rows; without --single-file any number");
  const auto counted = [&](Verdict verdict) {
    const auto count =
        std::ranges::count(rows, verdict, [](const CohortRow& row) { return row.judgement.verdict; });
    return filledIn("<b class=\"$\">$ $</b>",
                    {verdictText(verdict), std::to_string(count), verdictText(verdict)});
  };
  const std::vector<std::size_t> figures = shownFigures(rows);
  std::string heads, body;
  for (const std::size_t f : figures)
    heads += "<th>" + figureName(f) + "</th>";
  for (std::size_t i = 0; i < rows.size(); ++i)
    body += rowHtml(rows[i], rows[i].thumbnail.empty() ? "" : thumbnailSource(folder, rows[i], options),
                    figures, i + 1);
  writeTextFile(
      folder + "/index.html",
      pageHead(options.title, indexStyle, indexScript, "'self' file: data:")
          + filledIn(
              R"(<p>$ registrations: $, $, $, $, $. The worst come first. <span class="s">A registration is to be looked at if
a figure is more than 5 median absolute deviations (MAD) on the bad side of the median of all that are done, or for what its
page says; such figures have a frame.</span></p>
<p class="rate" hidden><a id="save" href="#" download="ratings.tsv"></a> <label>Open ratings.tsv
<input id="open" type="file" accept=".tsv"></label> <span class="s">Keys: j and k go to the next and the previous row, g, f and b
rate it as good, fair and bad.</span></p>
<p class="filter" hidden><label>Show <select id="only"><option value="">all</option><option>failed</option><option>interrupted</option><option>look</option>
<option>done</option><option>waiting</option><option>unrated</option></select></label>
<label>with <input id="find" type="search" placeholder="id, reason, covariate"></label> <span id="count" class="s"></span></p>
<div class="all"><table><thead><tr><th>place</th><th>id</th><th class="p">fixed, before, warped</th><th>verdict</th>$
<th>seconds</th><th class="rate" hidden>rating</th></tr></thead><tbody>
$</tbody>$</table></div>
<script>$</script></body></html>
)",
              {std::to_string(rows.size()), counted(Verdict::failed), counted(Verdict::interrupted),
               counted(Verdict::look), counted(Verdict::waiting), counted(Verdict::done), heads, body,
               mediansHtml(spread, figures), indexScript}));
}

std::string cohortPart(const std::vector<CohortRow>& rows, std::size_t i, const CohortSpread& spread)
{
  const CohortRow& row = rows[i];
  const auto link = [&](const std::string& target, const char* attributes, const std::string& text) {
    const std::filesystem::path folder = std::filesystem::path(row.page).parent_path();
    return filledIn(R"(<a $href="$">$</a>)",
                    {attributes, htmlPath(std::filesystem::path(target).lexically_relative(folder).string()),
                     htmlText(text)});
  };
  const auto hasPage = [](const CohortRow& other) { return !other.page.empty(); };
  const auto at = rows.begin() + static_cast<std::ptrdiff_t>(i);
  const auto before = std::find_if(std::make_reverse_iterator(at), rows.rend(), hasPage);
  const auto after = std::find_if(at + 1, rows.end(), hasPage);
  std::string html = filledIn("<nav>$: $ is number $ from the worst. ",
                              {link("index.html", "", "All " + std::to_string(rows.size()) + " rows"),
                               htmlText(row.id), std::to_string(i + 1)});
  if (before != rows.rend())
    html += link(before->page, "rel=\"prev\" ", "Before it " + before->id) + " (key k) ";
  if (after != rows.end())
    html += link(after->page, "rel=\"next\" ", "After it " + after->id) + " (key j)";
  html += "</nav>" + verdictHtml(row.judgement);
  if (!isDone(row))
    return html;
  std::string figures;
  for (std::size_t f = 0; f < figureCount; ++f)
    if (const auto& of = spread.of[f]; row.figures[f])
      figures += filledIn("<tr><td>$</td>$$$</tr>",
                          {figureName(f), numberCell(row.figures[f], row.judgement.conspicuous.contains(f)),
                           numberCell(of ? std::optional(of->median) : std::nullopt),
                           numberCell(of ? std::optional(of->mad) : std::nullopt)});
  return html + "<details><summary>Its figures beside their medians</summary>"
         + tableHtml({"figure", "this row", "median", "median absolute deviation"}, figures) + "</details>\n";
}

namespace {

constexpr std::chrono::seconds claimAge{600};

/// The path of a file of a row relative to the index; empty if there is none.
std::string relativePath(const CohortFolder& folder, const std::string& rowFolder, const std::string& name)
{
  return std::filesystem::exists(rowFolder + name) ? rowFolder.substr(folder.path().size()) + name : "";
}

CohortRow indexRow(const CohortFolder& folder, const Manifest& manifest, const ManifestRow& given)
{
  const std::string& id = given.id;
  CohortRow row;
  row.id = id;
  for (std::size_t i = 0; i < given.covariates.size(); ++i)
    row.covariates.emplace_back(manifest.covariates[i], given.covariates[i]);
  row.alone = {Verdict::waiting, {"it has not run yet"}, {}};
  const std::string rowFolder = folder.rowFolder(id);
  if (const std::optional<RowRecord> record = readRowRecord(rowFolder)) {
    row.seconds = record->seconds;
    readJson(rowFolder, *record, [&](const nlohmann::ordered_json& run) {
      row.figures = figuresOf(run);
      row.alone = judgedAlone(run);
    });
    row.page = relativePath(folder, rowFolder, pageName);
    row.thumbnail = relativePath(folder, rowFolder, thumbnailName);
  }
  return row;
}

/// Puts what is known of the cohort into the page of a row, unless a process works on the row.
void tellOfCohort(const CohortFolder& folder, const std::vector<CohortRow>& rows, std::size_t i,
                  const CohortSpread& spread)
{
  if (rows[i].page.empty() || RowClaim(folder.rowFolder(rows[i].id), claimAge).isTaken())
    return;
  const std::string path = folder.file(rows[i].page);
  const TextFile page = readTextFile(path);
  if (const std::string told = withCohortPart(page.text, cohortPart(rows, i, spread));
      page.failure.empty() && told != page.text)
    writeTextFile(path, told);
}

}

int writeReport(const CohortOptions& options, Log& log)
{
  const CohortResults results = cohortResultsIn(options.operand);
  std::vector<CohortRow> rows;
  for (const ManifestRow& row : results.manifest.rows)
    rows.push_back(indexRow(results.folder, results.manifest, row));
  const CohortSpread spread = judgeCohort(rows);
  std::size_t failed = 0, conspicuous = 0;
  for (const CohortRow& row : rows) {
    failed += row.judgement.verdict == Verdict::failed;
    conspicuous += row.judgement.verdict == Verdict::look;
  }
  writeCohortIndex(results.folder.path(), rows, spread,
                   {"Registrations in " + options.operand, options.singleFile});
  for (std::size_t i = 0; i < rows.size(); ++i)
    tellOfCohort(results.folder, rows, i, spread);
  log.info("Wrote " + results.folder.file("index.html") + ": of " + std::to_string(rows.size()) + " rows "
           + std::to_string(failed) + " failed, " + std::to_string(conspicuous) + " are to be looked at.");
  return 0;
}

}
