# live_page(SOURCE): makes live_page.cc from live_page.html, and sets SOURCE to its path. Browsers run
# the page's script and style because the policy in the source has their hashes.

# content_hash(TAG HASH): sets HASH to the hash of the text between <TAG> and </TAG> in `page`. It has
# the form of Content Security Policy: sha256- and base64.
function(content_hash tag hash)
  string(LENGTH "<${tag}>" length)
  string(FIND "${page}" "<${tag}>" begin)
  string(FIND "${page}" "</${tag}>" end)
  math(EXPR begin "${begin} + ${length}")
  math(EXPR length "${end} - ${begin}")
  string(SUBSTRING "${page}" ${begin} ${length} text)
  string(SHA256 hex "${text}")
  set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  # Three hex digits give two base64 digits. 64 digits and two zeros give 44, and the last one is padding.
  set(base64 "")
  foreach(place RANGE 0 63 3)
    string(SUBSTRING "${hex}00" ${place} 3 three)
    math(EXPR high "0x${three} >> 6")
    math(EXPR low "0x${three} & 63")
    foreach(value ${high} ${low})
      string(SUBSTRING "${digits}" ${value} 1 digit)
      string(APPEND base64 "${digit}")
    endforeach()
  endforeach()
  string(SUBSTRING "${base64}" 0 43 base64)
  set(${hash} "sha256-${base64}=" PARENT_SCOPE)
endfunction()

function(live_page source)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
               ${CMAKE_CURRENT_SOURCE_DIR}/live_page.html)
  file(READ live_page.html page)
  content_hash(script script_hash)
  content_hash(style style_hash)
  configure_file(live_page.cc.in live_page.cc @ONLY)
  # After an edit of the page this file alone is compiled.
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/live_page.cc PROPERTIES
                              SKIP_UNITY_BUILD_INCLUSION ON)
  set(${source} ${CMAKE_CURRENT_BINARY_DIR}/live_page.cc PARENT_SCOPE)
endfunction()
