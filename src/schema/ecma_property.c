#include "schema/ecma_property.h"

#include "base/error.h"

/* A row of the standard's tables of names. */
struct property {
  const char *name; /* PCRE2 knows it, too */
  const char *alias[2];
};

static const struct property CATEGORIES[] = {
    {"L", {"Letter"}},
    {"LC", {"Cased_Letter"}},
    {"Ll", {"Lowercase_Letter"}},
    {"Lm", {"Modifier_Letter"}},
    {"Lo", {"Other_Letter"}},
    {"Lt", {"Titlecase_Letter"}},
    {"Lu", {"Uppercase_Letter"}},
    {"M", {"Mark", "Combining_Mark"}},
    {"Mc", {"Spacing_Mark"}},
    {"Me", {"Enclosing_Mark"}},
    {"Mn", {"Nonspacing_Mark"}},
    {"N", {"Number"}},
    {"Nd", {"Decimal_Number", "digit"}},
    {"Nl", {"Letter_Number"}},
    {"No", {"Other_Number"}},
    {"P", {"Punctuation", "punct"}},
    {"Pc", {"Connector_Punctuation"}},
    {"Pd", {"Dash_Punctuation"}},
    {"Pe", {"Close_Punctuation"}},
    {"Pf", {"Final_Punctuation"}},
    {"Pi", {"Initial_Punctuation"}},
    {"Po", {"Other_Punctuation"}},
    {"Ps", {"Open_Punctuation"}},
    {"S", {"Symbol"}},
    {"Sc", {"Currency_Symbol"}},
    {"Sk", {"Modifier_Symbol"}},
    {"Sm", {"Math_Symbol"}},
    {"So", {"Other_Symbol"}},
    {"Z", {"Separator"}},
    {"Zl", {"Line_Separator"}},
    {"Zp", {"Paragraph_Separator"}},
    {"Zs", {"Space_Separator"}},
    {"C", {"Other"}},
    {"Cc", {"Control", "cntrl"}},
    {"Cf", {"Format"}},
    {"Cn", {"Unassigned"}},
    {"Co", {"Private_Use"}},
    {"Cs", {"Surrogate"}},
};

static const struct property BINARY[] = {
    {"ASCII", {NULL}},
    {"ASCII_Hex_Digit", {"AHex"}},
    {"Alphabetic", {"Alpha"}},
    {"Any", {NULL}},
    {"Bidi_Control", {"Bidi_C"}},
    {"Bidi_Mirrored", {"Bidi_M"}},
    {"Case_Ignorable", {"CI"}},
    {"Cased", {NULL}},
    {"Changes_When_Casefolded", {"CWCF"}},
    {"Changes_When_Casemapped", {"CWCM"}},
    {"Changes_When_Lowercased", {"CWL"}},
    {"Changes_When_NFKC_Casefolded", {"CWKCF"}},
    {"Changes_When_Titlecased", {"CWT"}},
    {"Changes_When_Uppercased", {"CWU"}},
    {"Dash", {NULL}},
    {"Default_Ignorable_Code_Point", {"DI"}},
    {"Deprecated", {"Dep"}},
    {"Diacritic", {"Dia"}},
    {"Emoji", {NULL}},
    {"Emoji_Component", {"EComp"}},
    {"Emoji_Modifier", {"EMod"}},
    {"Emoji_Modifier_Base", {"EBase"}},
    {"Emoji_Presentation", {"EPres"}},
    {"Extended_Pictographic", {"ExtPict"}},
    {"Extender", {"Ext"}},
    {"Grapheme_Base", {"Gr_Base"}},
    {"Grapheme_Extend", {"Gr_Ext"}},
    {"Hex_Digit", {"Hex"}},
    {"IDS_Binary_Operator", {"IDSB"}},
    {"IDS_Trinary_Operator", {"IDST"}},
    {"ID_Continue", {"IDC"}},
    {"ID_Start", {"IDS"}},
    {"Ideographic", {"Ideo"}},
    {"Join_Control", {"Join_C"}},
    {"Logical_Order_Exception", {"LOE"}},
    {"Lowercase", {"Lower"}},
    {"Math", {NULL}},
    {"Noncharacter_Code_Point", {"NChar"}},
    {"Pattern_Syntax", {"Pat_Syn"}},
    {"Pattern_White_Space", {"Pat_WS"}},
    {"Quotation_Mark", {"QMark"}},
    {"Radical", {NULL}},
    {"Regional_Indicator", {"RI"}},
    {"Sentence_Terminal", {"STerm"}},
    {"Soft_Dotted", {"SD"}},
    {"Terminal_Punctuation", {"Term"}},
    {"Unified_Ideograph", {"UIdeo"}},
    {"Uppercase", {"Upper"}},
    {"Variation_Selector", {"VS"}},
    {"White_Space", {"space"}},
    {"XID_Continue", {"XIDC"}},
    {"XID_Start", {"XIDS"}},
};

/* The first name of the row that has `name`, or an absent one. */
static struct hf_str find(const struct property *rows, size_t count, struct hf_str name) {
  for (size_t i = 0; i < count; i++) {
    struct hf_str first = hf_str_from(rows[i].name);
    bool same = hf_str_equal(first, name);
    for (size_t j = 0; j < 2 && rows[i].alias[j]; j++)
      same = same || hf_str_equal(hf_str_from(rows[i].alias[j]), name);
    if (same)
      return first;
  }
  return (struct hf_str){NULL, 0};
}

static bool is_name(struct hf_str text) {
  for (size_t i = 0; i < text.len; i++) {
    char c = text.ptr[i];
    if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'))
      return false;
  }
  return text.len > 0;
}

static int category(struct hf_str name, struct hf_ecma_property *ret_property) {
  struct hf_str found = find(CATEGORIES, sizeof CATEGORIES / sizeof CATEGORIES[0], name);
  if (!found.ptr)
    return HF_ERR_NOTFOUND;
  if (hf_str_equal(found, HF_STR("LC")))
    found = HF_STR("L&");
  *ret_property = (struct hf_ecma_property){.prefix = "", .name = found};
  return 0;
}

int hf_ecma_property(struct hf_str text, struct hf_ecma_property *ret_property) {
  const char *equals = memchr(text.ptr, '=', text.len);
  if (equals) {
    struct hf_str name = {text.ptr, (size_t)(equals - text.ptr)};
    struct hf_str value = {equals + 1, text.len - name.len - 1};
    if (hf_str_equal(name, HF_STR("General_Category")) || hf_str_equal(name, HF_STR("gc")))
      return category(value, ret_property);
    bool extended = hf_str_equal(name, HF_STR("Script_Extensions")) || hf_str_equal(name, HF_STR("scx"));
    if (!is_name(value) || !(extended || hf_str_equal(name, HF_STR("Script")) || hf_str_equal(name, HF_STR("sc"))))
      return HF_ERR_NOTFOUND;
    *ret_property = (struct hf_ecma_property){.prefix = extended ? "scx:" : "sc:", .name = value};
    return 0;
  }
  if (hf_str_equal(text, HF_STR("Assigned"))) {
    *ret_property = (struct hf_ecma_property){.prefix = "", .name = HF_STR("Cn"), .inverted = true};
    return 0;
  }
  struct hf_str found = find(BINARY, sizeof BINARY / sizeof BINARY[0], text);
  if (!found.ptr)
    return category(text, ret_property);
  *ret_property = (struct hf_ecma_property){.prefix = "", .name = found};
  return 0;
}
