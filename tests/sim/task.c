#include "task.h"

#define TEXT(name) "\"" name "\":{\"type\":\"string\"}"
#define WHOLE(name) "\"" name "\":{\"type\":\"integer\"}"
#define NUMBER(name) "\"" name "\":{\"type\":\"number\"}"
#define SWITCH(name) "\"" name "\":{\"type\":\"boolean\"}"
#define LIST(name) "\"" name "\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"
#define OBJECT(name) "\"" name "\":{\"type\":\"object\"}"
#define CHOICE(name, values) "\"" name "\":{\"type\":\"string\",\"enum\":[" values "]}"
#define SCHEMA(properties, required)                                                                                   \
  "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "],\"additionalProperties\":false}"

const struct task_tool task_tools[TASK_TOOLS] = {
    {"search_documents",
     true,
     {{"query", TASK_TEXT, true, "\"quarterly report\""},
      {"maxResults", TASK_INTEGER, false, "20"},
      {"sortOrder", TASK_CHOICE, false, "\"newest\""},
      {"tags", TASK_LIST, false, "[\"finance\"]"},
      {"cursor", TASK_TEXT, false, "null"}},
     5,
     SCHEMA(TEXT("query") "," WHOLE("maxResults") "," CHOICE(
                "sortOrder", "\"newest\",\"oldest\",\"relevance\"") "," LIST("tags") "," TEXT("cursor"),
            "\"query\"")},
    {"get_forecast",
     true,
     {{"latitude", TASK_NUMBER, true, "52.52"},
      {"longitude", TASK_NUMBER, true, "13.41"},
      {"days", TASK_INTEGER, false, "3"},
      {"hourly", TASK_BOOLEAN, false, "false"},
      {"unit", TASK_CHOICE, false, "\"Celsius\""}},
     5,
     SCHEMA(NUMBER("latitude") "," NUMBER("longitude") "," WHOLE("days") "," SWITCH("hourly") "," CHOICE(
                "unit", "\"Celsius\",\"Fahrenheit\""),
            "\"latitude\",\"longitude\"")},
    {"find_restaurants",
     true,
     {{"location", TASK_TEXT, true, "\"New York\""},
      {"cuisine", TASK_TEXT, true, "\"Italian\""},
      {"diets", TASK_LIST, false, "[\"vegan\"]"},
      {"limit", TASK_INTEGER, false, "4"},
      {"openNow", TASK_BOOLEAN, false, "true"},
      {"priceRange", TASK_TEXT, false, "null"}},
     6,
     SCHEMA(TEXT("location") "," TEXT("cuisine") "," LIST("diets") "," WHOLE("limit") "," SWITCH("openNow") "," TEXT(
                "priceRange"),
            "\"location\",\"cuisine\"")},
    {"query_table",
     true,
     {{"table", TASK_TEXT, true, "\"customers\""},
      {"columns", TASK_LIST, true, "[\"id\",\"email\"]"},
      {"filter", TASK_OBJECT, false, "{\"country\":\"DE\",\"active\":true}"},
      {"limit", TASK_INTEGER, false, "100"}},
     4,
     SCHEMA(TEXT("table") "," LIST("columns") "," OBJECT("filter") "," WHOLE("limit"), "\"table\",\"columns\"")},
    {"create_ticket",
     false,
     {{"title", TASK_TEXT, true, "\"Invoice is wrong\""},
      {"priority", TASK_CHOICE, true, "\"high\""},
      {"labels", TASK_LIST, false, "[\"billing\",\"urgent\"]"},
      {"assigneeId", TASK_INTEGER, false, "42"},
      {"notify", TASK_BOOLEAN, false, "true"},
      {"dueDate", TASK_TEXT, false, "null"}},
     6,
     SCHEMA(TEXT("title") "," CHOICE("priority", "\"low\",\"normal\",\"high\"") "," LIST("labels") "," WHOLE(
                "assigneeId") "," SWITCH("notify") "," TEXT("dueDate"),
            "\"title\",\"priority\"")},
    {"update_record",
     false,
     {{"recordId", TASK_INTEGER, true, "1234"},
      {"fields", TASK_OBJECT, true, "{\"stage\":\"won\",\"amount\":900}"},
      {"dryRun", TASK_BOOLEAN, false, "false"}},
     3,
     SCHEMA(WHOLE("recordId") "," OBJECT("fields") "," SWITCH("dryRun"), "\"recordId\",\"fields\"")},
};

const char *task_type_name(enum task_type type) {
  static const char *const names[] = {
      [TASK_TEXT] = "string",   [TASK_INTEGER] = "integer", [TASK_NUMBER] = "number", [TASK_BOOLEAN] = "boolean",
      [TASK_CHOICE] = "string", [TASK_LIST] = "array",      [TASK_OBJECT] = "object",
  };
  return names[type];
}
